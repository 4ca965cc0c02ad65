#!/usr/bin/python3 -B
# SPDX-License-Identifier: ISC
# agent.py - in the machine, as root: carries out functions that the tests send.
#
# A line of JSON each way: {"name", "source", "args"} and {"value"} or {"error"}. One process for all,
# because starting Python takes half a second there. The functions find `lab` (what the tests of the
# lab know of a host) and `tools` (what is different on this one) and the modules below.
# pylint: disable=unused-import
import base64
import contextlib
import glob
import json
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import traceback

import lab
import tools


def main():
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a function prints is for whoever debugs it
    for line in sys.stdin:
        request = json.loads(line)
        try:
            exec(compile(request["source"], request["name"], "exec"), globals())
            answer = {"value": globals()[request["name"]](*request["args"])}
            text = json.dumps(answer)
        except Exception:
            text = json.dumps({"error": traceback.format_exc()})
        answers.write(text + "\n")
        answers.flush()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: ISC
# disk_programs.py - what takes all that there is in ~/work: bytes, and files. Each prints how much it
# got before the error, and the error's number, and fails with it.
FILL = """
import os
n, e = 0, 0
with open("big", "wb", buffering=0) as f:
    try:
        while n < 600 << 20: n += f.write(bytes(1 << 20))
    except OSError as error: e = error.errno
print(n, e)
raise SystemExit(e != 0)
"""
MANY = """
import os
n, e = 0, 0
try:
    while n < 5000:
        os.close(os.open(f"f{n}", os.O_CREAT | os.O_WRONLY))
        n += 1
except OSError as error: e = error.errno
print(n, e)
raise SystemExit(e != 0)
"""

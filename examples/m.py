#!/usr/bin/env python3
"""A mapper by Hadoop Streaming's contract: reads lines, writes a line `word TAB 1` for each word."""
import sys

for line in sys.stdin:
    for word in line.split():
        print(word.lower(), 1, sep="\t")

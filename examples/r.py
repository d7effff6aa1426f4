#!/usr/bin/env python3
"""A reducer by Hadoop Streaming's contract: reads `word TAB count` lines in order of words, writes a sum for each."""
import itertools
import sys

pairs = (line.rstrip("\n").split("\t") for line in sys.stdin)
for word, group in itertools.groupby(pairs, key=lambda pair: pair[0]):
    print(word, sum(int(count) for _, count in group), sep="\t")

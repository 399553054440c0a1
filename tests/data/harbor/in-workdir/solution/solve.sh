#!/bin/sh
echo "$GREETING $WORD" > greeting.txt

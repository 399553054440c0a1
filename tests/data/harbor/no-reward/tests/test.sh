#!/bin/bash
test -f /app/sum.txt

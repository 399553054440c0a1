#!/bin/sh
echo 4 > sum.txt

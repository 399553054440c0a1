#!/bin/sh
wc -l < notes.txt > count.txt

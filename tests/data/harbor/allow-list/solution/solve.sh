#!/bin/sh
echo done > done.txt

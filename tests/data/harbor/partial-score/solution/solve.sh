#!/bin/sh
touch b.txt c.txt d.txt

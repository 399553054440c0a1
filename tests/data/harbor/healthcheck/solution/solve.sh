#!/bin/sh
echo ready > ready.txt

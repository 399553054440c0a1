#!/bin/sh
git merge --quiet feature

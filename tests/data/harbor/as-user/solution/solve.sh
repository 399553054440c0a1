#!/bin/sh
id --user --name > whoami.txt

#!/bin/sh
sed -i 's|return .*|return sum(numbers) / len(numbers) if numbers else 0|' mean.py

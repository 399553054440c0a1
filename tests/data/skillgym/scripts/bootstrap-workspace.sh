# Writes what it was given, for the scripted agent to look at.
echo "$*" >bootstrapped

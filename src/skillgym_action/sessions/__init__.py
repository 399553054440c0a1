"""One session, from an empty directory to a judgement; its repetitions; and the engines that run it elsewhere."""

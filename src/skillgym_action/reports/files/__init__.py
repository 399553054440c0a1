"""Reports for programs: JUnit XML, CTRF, OTLP, annotations, and the files of other tools."""

#!/bin/sh
# Fetches stock Hadoop from Maven Central into $SOJOURN_CACHE/hadoop-VERSION/jars (~/.cache/sojourn where that is not set), once.
set -eu
version=3.4.2
dir=${SOJOURN_CACHE:-$HOME/.cache/sojourn}/hadoop-$version
if [ -e "$dir/jars/hadoop-yarn-server-nodemanager-$version.jar" ]; then
	exit 0
fi
for tool in java mvn; do
	if ! command -v $tool >/dev/null; then
		echo "$tool is missing: stock Hadoop cannot be fetched or run, its tests will be skipped" >&2
		exit 0
	fi
done
mkdir -p "$dir"
{
	echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
	echo '<groupId>sojourn</groupId><artifactId>peers</artifactId><version>1</version><packaging>pom</packaging><dependencies>'
	for a in common yarn-server-nodemanager yarn-server-resourcemanager yarn-server-timelineservice mapreduce-client-app mapreduce-client-jobclient \
		mapreduce-client-shuffle mapreduce-client-hs mapreduce-examples yarn-client yarn-applications-distributedshell yarn-applications-unmanaged-am-launcher; do
		echo "<dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-$a</artifactId><version>$version</version></dependency>"
	done
	echo "<dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-mapreduce-client-jobclient</artifactId><version>$version</version><type>test-jar</type></dependency>"
	echo '<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-reload4j</artifactId><version>1.7.36</version></dependency>'
	echo '</dependencies></project>'
} >"$dir/pom.xml"
cd "$dir"
timeout 1800 mvn -q -B dependency:copy-dependencies -DoutputDirectory=jars

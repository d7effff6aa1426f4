#!/bin/sh
# fetch-stock.sh hadoop|spark|tez|flink: fetches what tests run beside this project, once, by its own package manager,
# into $SOJOURN_CACHE (~/.cache/sojourn where that is not set), and prints where it is: the folder of Hadoop's, Tez's or
# Flink's jars, or Spark's home. Prints nothing but a sentence on standard error where that cannot be had within
# $SOJOURN_FETCH_TIME (600 s): tests that need it are skipped then.
set -eu
cache=${SOJOURN_CACHE:-${HOME:?}/.cache/sojourn}
hadoop=3.4.2
spark=3.5.5
tez=0.10.4
flink=2.0.0

# without WHAT WHY
without() {
	echo "tests beside stock $1 are skipped: $2" >&2
	exit 0
}

# need WHAT TOOL...
need() {
	what=$1
	shift
	for tool in "$@"; do
		command -v "$tool" >/dev/null || without "$what" "$tool is missing"
	done
}

# dependency GROUP ARTIFACT VERSION [MORE] lists an artifact.
dependency() {
	echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId><version>$3</version>${4-}</dependency>"
}

# pom lists the artifacts that stand-alone NodeManagers, MapReduce, its commands and examples, and the ResourceManager
# to compare with are made of.
pom() {
	echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
	echo '<groupId>sojourn</groupId><artifactId>peers</artifactId><version>1</version><packaging>pom</packaging>'
	echo '<dependencies>'
	for a in common streaming yarn-server-nodemanager yarn-server-resourcemanager yarn-server-timelineservice \
		mapreduce-client-app mapreduce-client-jobclient mapreduce-client-shuffle mapreduce-client-hs \
		mapreduce-examples yarn-client yarn-applications-distributedshell yarn-applications-unmanaged-am-launcher; do
		dependency org.apache.hadoop "hadoop-$a" "$hadoop"
	done
	dependency org.apache.hadoop hadoop-mapreduce-client-jobclient "$hadoop" '<type>test-jar</type>'
	dependency org.slf4j slf4j-reload4j 1.7.36
	echo '</dependencies></project>'
}

# pomOf GROUP VERSION ARTIFACT... lists artifacts of one group.
pomOf() {
	group=$1 version=$2
	shift 2
	echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
	echo '<groupId>sojourn</groupId><artifactId>peers</artifactId><version>1</version><packaging>pom</packaging>'
	echo '<dependencies>'
	for a in "$@"; do
		dependency "$group" "$a" "$version"
	done
	echo '</dependencies></project>'
}

# fetch WHAT TO COMMAND... runs the command, which fills the folder TO.part, and names it TO when it is whole.
fetch() {
	what=$1 to=$2
	shift 2
	rm -rf "$to.part"
	mkdir -p "$to.part"
	echo "fetching $what into $to (once)" >&2
	if ! timeout "${SOJOURN_FETCH_TIME:-600}" "$@" >"$to.log" 2>&1; then
		rm -rf "$to.part"
		without "$what" "it cannot be fetched, see $to.log"
	fi
	rm -rf "$to"
	mv "$to.part" "$to"
}

case ${1-} in
hadoop)
	dir=$cache/hadoop-$hadoop
	need "Hadoop $hadoop" java bash
	if [ ! -e "$dir/jars/hadoop-streaming-$hadoop.jar" ]; then
		need "Hadoop $hadoop" mvn
		mkdir -p "$dir"
		pom >"$dir/pom.xml"
		fetch "Hadoop $hadoop" "$dir/jars" mvn -q -B -f "$dir/pom.xml" dependency:copy-dependencies \
			-DoutputDirectory="$dir/jars.part"
	fi
	echo "$dir/jars"
	;;
spark)
	dir=$cache/spark-$spark/lib
	need "Spark $spark" java python3
	if [ ! -e "$dir/pyspark/bin/spark-submit" ]; then
		mkdir -p "$cache/spark-$spark"
		fetch "Spark $spark" "$dir" python3 -m pip install -q --disable-pip-version-check --no-compile \
			--target "$dir.part" "pyspark==$spark"
	fi
	# the shuffle service of NodeManagers, which pip has not; tests that need it are skipped without
	if [ ! -e "$dir/pyspark/yarn" ] && command -v mvn >/dev/null; then
		pomOf org.apache.spark "$spark" spark-network-yarn_2.12 >"$cache/spark-$spark/pom.xml"
		(fetch "Spark's shuffle service" "$dir/pyspark/yarn" mvn -q -B -f "$cache/spark-$spark/pom.xml" \
			dependency:copy-dependencies -DexcludeTransitive=true -DoutputDirectory="$dir/pyspark/yarn.part")
	fi
	echo "$dir/pyspark"
	;;
tez)
	dir=$cache/tez-$tez
	need "Tez $tez" java mvn
	if [ ! -e "$dir/jars/tez-examples-$tez.jar" ]; then
		mkdir -p "$dir"
		pomOf org.apache.tez "$tez" tez-examples tez-dag tez-runtime-internals >"$dir/pom.xml"
		fetch "Tez $tez" "$dir/jars" mvn -q -B -f "$dir/pom.xml" dependency:copy-dependencies -DincludeScope=runtime \
			-DexcludeGroupIds=org.apache.hadoop,org.apache.hadoop.thirdparty -DoutputDirectory="$dir/jars.part"
	fi
	echo "$dir/jars"
	;;
flink)
	# in place of flink-dist, which has all of it in one jar: Flink, and what it needs that Hadoop has not
	dir=$cache/flink-$flink
	need "Flink $flink" java javac jar mvn
	if [ ! -e "$dir/jars/flink-yarn-$flink.jar" ]; then
		mkdir -p "$dir"
		pomOf org.apache.flink "$flink" flink-yarn flink-clients flink-streaming-java flink-runtime \
			flink-hadoop-fs >"$dir/pom.xml"
		groups=org.apache.flink,commons-collections,com.esotericsoftware,com.esotericsoftware.minlog,org.objenesis
		groups=$groups,org.snakeyaml,org.lz4,org.xerial.snappy
		fetch "Flink $flink" "$dir/jars" mvn -q -B -f "$dir/pom.xml" dependency:copy-dependencies \
			-DincludeScope=runtime -DincludeGroupIds="$groups" -DoutputDirectory="$dir/jars.part"
	fi
	echo "$dir/jars"
	;;
*)
	echo "usage: $0 hadoop|spark|tez|flink" >&2
	exit 2
	;;
esac

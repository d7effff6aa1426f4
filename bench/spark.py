"""What Spark does in the benchmarks, by data frames, so that all work is in the JVM.

spark.py JOB INPUT OUTPUT CORES TEMPORARY [PATTERN]
"""
import os
import sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

job, source, output, cores, temporary = sys.argv[1:6]
spark = (SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
         .config("spark.driver.memory", "4g").config("spark.sql.shuffle.partitions", cores)
         .config("spark.local.dir", os.path.abspath(temporary)).getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
lines = spark.read.text(os.path.abspath(source))
if job == "wordcount":
    words = lines.select(f.explode(f.split("value", r"[ \t\f]+")).alias("word")).where("word <> ''")
    counts = words.groupBy("word").count()
    counts.select(f.concat_ws("\t", "word", "count").alias("value")).write.text(os.path.abspath(output))
elif job == "grep":
    pattern = sys.argv[6]
    matches = f.regexp_extract_all("value", f.lit(pattern), f.lit(0))
    found = lines.where(f.col("value").rlike(pattern)).select(f.explode(matches).alias("m"))
    counts = found.groupBy("m").count().orderBy(f.desc("count"), "m")
    counts.select(f.concat_ws("\t", "count", "m").alias("value")).write.text(os.path.abspath(output))
elif job == "sort":
    lines.orderBy("value").write.text(os.path.abspath(output))
spark.stop()

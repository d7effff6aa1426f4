import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.SleepJob;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.map.RegexMapper;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.reduce.LongSumReducer;

/**
 * Submits MapReduce jobs for as long as standard input has lines, from one process: a client's own start would count
 * for seconds otherwise. A line is "KIND INPUT SPLIT OUTPUT...", one job for each output, all at once. It answers with
 * the jobs' identities on one line. Kinds are wordcount, grep and sort, made of Hadoop's own mappers and reducers, and
 * sleep, which has as many maps as INPUT says, of so many milliseconds as SPLIT says, and OUTPUT as a tag, but for "-".
 */
public class Submit {
  public static void main(String[] args) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] f = line.split(" ");
      List<Job> jobs = new ArrayList<>();
      for (int i = 3; i < f.length; i++) {
        jobs.add(job(f[0], f[1], Long.parseLong(f[2]), f[i]));
      }
      List<Thread> threads = new ArrayList<>();
      for (Job job : jobs) {
        Thread t = new Thread(() -> {
          try {
            job.submit();
          } catch (Exception e) {
            e.printStackTrace();
          }
        });
        t.start();
        threads.add(t);
      }
      StringBuilder ids = new StringBuilder("jobs");
      for (int i = 0; i < jobs.size(); i++) {
        threads.get(i).join();
        ids.append(' ').append(jobs.get(i).getJobID());
      }
      System.out.println(ids);
    }
  }

  static Job job(String kind, String input, long split, String output) throws Exception {
    Configuration conf = new JobConf();
    if (kind.equals("sleep")) {
      if (!output.equals("-")) {
        conf.set("mapreduce.job.tags", output);
      }
      SleepJob sleep = new SleepJob();
      sleep.setConf(conf);
      Job job = sleep.createJob(Integer.parseInt(input), 0, split, 1, 0, 1);
      job.setJobName("sleep-" + input);
      return job;
    }
    conf.set(RegexMapper.PATTERN, "[a-z]*ti[a-z]*");
    Job job = Job.getInstance(conf, kind);
    FileInputFormat.addInputPath(job, new Path(input));
    FileInputFormat.setMaxInputSplitSize(job, split);
    FileOutputFormat.setOutputPath(job, new Path(output));
    job.setNumReduceTasks(1);
    job.setJarByClass(RegexMapper.class);
    switch (kind) {
      case "wordcount":
        job.setMapperClass(org.apache.hadoop.examples.WordCount.TokenizerMapper.class);
        job.setCombinerClass(org.apache.hadoop.examples.WordCount.IntSumReducer.class);
        job.setReducerClass(org.apache.hadoop.examples.WordCount.IntSumReducer.class);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(IntWritable.class);
        break;
      case "grep":
        job.setMapperClass(RegexMapper.class);
        job.setCombinerClass(LongSumReducer.class);
        job.setReducerClass(LongSumReducer.class);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(LongWritable.class);
        break;
      case "sort": // identity: all of the input goes through the shuffle
        job.setOutputKeyClass(LongWritable.class);
        job.setOutputValueClass(Text.class);
        break;
      default:
        throw new IllegalArgumentException(kind);
    }
    return job;
  }
}

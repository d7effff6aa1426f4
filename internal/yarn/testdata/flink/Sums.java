import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TreeSet;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.CloseableIterator;

/** Adds up the numbers below a bound by their remainders by 7, and writes a line for each into a file. */
public class Sums {
	public static void main(String[] args) throws Exception {
		StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
		env.setRuntimeMode(RuntimeExecutionMode.BATCH);
		env.setParallelism(2);
		TreeSet<String> lines = new TreeSet<>();
		try (CloseableIterator<Tuple2<Long, Long>> sums =
				env.fromSequence(0, Long.parseLong(args[1]) - 1)
						.map(n -> Tuple2.of(n % 7, n))
						.returns(Types.TUPLE(Types.LONG, Types.LONG))
						.keyBy(one -> one.f0, Types.LONG)
						.sum(1)
						.executeAndCollect("sums")) {
			while (sums.hasNext()) {
				Tuple2<Long, Long> one = sums.next();
				lines.add(one.f0 + " " + one.f1);
			}
		}
		Files.write(Path.of(args[0]), lines);
	}
}

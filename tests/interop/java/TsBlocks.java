import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.tsfile.block.column.Column;
import org.apache.tsfile.enums.TSDataType;
import org.apache.tsfile.read.common.block.TsBlock;
import org.apache.tsfile.read.common.block.column.BinaryColumn;
import org.apache.tsfile.read.common.block.column.BooleanColumn;
import org.apache.tsfile.read.common.block.column.DictionaryColumn;
import org.apache.tsfile.read.common.block.column.DoubleColumn;
import org.apache.tsfile.read.common.block.column.FloatColumn;
import org.apache.tsfile.read.common.block.column.IntColumn;
import org.apache.tsfile.read.common.block.column.LongColumn;
import org.apache.tsfile.read.common.block.column.RunLengthEncodedColumn;
import org.apache.tsfile.read.common.block.column.TimeColumn;
import org.apache.tsfile.read.common.block.column.TsBlockSerde;
import org.apache.tsfile.utils.Binary;

/**
 * Blocks by the reference classes. "read FILE...": prints each as the program tsblocks does, and writes it again as FILE.java.
 * "make FOLDER": writes blocks of its own as N.made, with all encodings, and prints them.
 */
public class TsBlocks {
  private static final TsBlockSerde SERDE = new TsBlockSerde();

  private static String value(Column c, int row, TSDataType type) {
    if (c.isNull(row)) {
      return "null";
    }
    switch (type) {
      case BOOLEAN:
        return String.valueOf(c.getBoolean(row));
      case INT32:
        return String.valueOf(c.getInt(row));
      case INT64:
        return String.valueOf(c.getLong(row));
      case FLOAT:
        return String.valueOf(Float.floatToRawIntBits(c.getFloat(row)));
      case DOUBLE:
        return String.valueOf(Double.doubleToRawLongBits(c.getDouble(row)));
      default:
        StringBuilder hex = new StringBuilder("\"");
        for (byte b : c.getBinary(row).getValues()) {
          hex.append(String.format("%02x", b));
        }
        return hex.append('"').toString();
    }
  }

  private static String print(TsBlock block) {
    List<String> times = new ArrayList<>();
    List<String> types = new ArrayList<>();
    List<String> columns = new ArrayList<>();

    for (int row = 0; row < block.getPositionCount(); row++) {
      times.add(String.valueOf(block.getTimeByIndex(row)));
    }
    for (int i = 0; i < block.getValueColumnCount(); i++) {
      Column c = block.getColumn(i);
      List<String> values = new ArrayList<>();

      types.add(String.valueOf(c.getDataType().serialize()));
      for (int row = 0; row < block.getPositionCount(); row++) {
        values.add(value(c, row, c.getDataType()));
      }
      columns.add(values.toString());
    }
    return "{\"times\": " + times + ", \"types\": " + types + ", \"columns\": " + columns + "}";
  }

  private static void write(TsBlock block, String file) throws Exception {
    ByteBuffer buffer = SERDE.serialize(block);
    byte[] bytes = new byte[buffer.remaining()];

    buffer.get(bytes);
    Files.write(Path.of(file), bytes);
  }

  /** Columns of N rows of all classes; NULLS is absent, all false, or has some. */
  private static Column[] plain(int n, Optional<boolean[]> nulls) {
    boolean[] booleans = new boolean[n];
    int[] ints = IntStream.range(0, n).map(i -> i * 1000003 - 500).toArray();
    long[] longs = IntStream.range(0, n).mapToLong(i -> i * 1000000007L * 1000003 - 5).toArray();
    float[] floats = new float[n];
    double[] doubles = new double[n];
    Binary[] binaries = new Binary[n];

    for (int i = 0; i < n; i++) {
      booleans[i] = i % 3 == 0;
      floats[i] = i / 7f;
      doubles[i] = i == 1 ? Double.NaN : -i / 3.0;
      binaries[i] = new Binary("value " + "x".repeat(i), StandardCharsets.UTF_8);
    }
    return new Column[] {
      new BooleanColumn(n, nulls, booleans), new IntColumn(n, nulls, ints), new LongColumn(n, nulls, longs),
      new FloatColumn(n, nulls, floats), new DoubleColumn(n, nulls, doubles), new BinaryColumn(n, nulls, binaries)
    };
  }

  private static boolean[] someNulls(int n) {
    boolean[] nulls = new boolean[n];

    for (int i = 0; i < n; i++) {
      nulls[i] = i % 4 == 1;
    }
    return nulls;
  }

  private static void make(String folder) throws Exception {
    int number = 0;

    for (int n : new int[] {1, 7, 8, 9, 50}) {
      TimeColumn times = new TimeColumn(n, IntStream.range(0, n).mapToLong(i -> i * 10L).toArray());
      Column zero = new RunLengthEncodedColumn(new TimeColumn(1, new long[] {0}), n);

      for (Optional<boolean[]> nulls : List.of(Optional.<boolean[]>empty(), Optional.of(new boolean[n]), Optional.of(someNulls(n)))) {
        Column[] columns = plain(n, nulls);
        int[] ids = IntStream.range(0, n).map(i -> (i * 5 + 1) % n).toArray();
        Column[] dictionaries = Arrays.stream(columns).map(c -> DictionaryColumn.create(n, c, ids)).toArray(Column[]::new);
        Column[] runs = Arrays.stream(columns).map(c -> new RunLengthEncodedColumn(c.getRegion(0, 1), n)).toArray(Column[]::new);

        for (TsBlock block : List.of(new TsBlock(n, times, columns), new TsBlock(n, zero, dictionaries), new TsBlock(n, zero, runs))) {
          write(block, folder + "/" + number++ + ".made");
          System.out.println(print(block));
        }
      }
    }
  }

  public static void main(String[] args) throws Exception {
    if (args[0].equals("make")) {
      make(args[1]);
      return;
    }
    for (String file : Arrays.copyOfRange(args, 1, args.length)) {
      TsBlock block = SERDE.deserialize(ByteBuffer.wrap(Files.readAllBytes(Path.of(file))));

      System.out.println(print(block));
      write(block, file + ".java");
    }
  }
}

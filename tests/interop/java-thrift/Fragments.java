import data_exchange.AcknowledgeDataBlockEvent;
import data_exchange.CloseSinkChannelEvent;
import data_exchange.DataExchange;
import data_exchange.EndOfDataBlockEvent;
import data_exchange.FragmentInstanceId;
import data_exchange.GetDataBlockRequest;
import data_exchange.GetDataBlockResponse;
import data_exchange.NewDataBlockEvent;
import data_exchange.Status;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TProtocolFactory;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.layered.TFramedTransport;

/**
 * One end of an exchange in fragments, on classes that Thrift's compiler made from data_exchange.thrift. "send PROTOCOL LIMIT SIZE..." or
 * "receive PROTOCOL LIMIT": prints its port, reads the port of the other node, works, prints what came. Instances and bytes are those of
 * exchange_node.c.
 */
public class Fragments implements DataExchange.Iface {
  private static final FragmentInstanceId SOURCE = new FragmentInstanceId("q0", 1, "0");
  private static final FragmentInstanceId TARGET = new FragmentInstanceId("q0", 2, "0");

  private final int limit;
  private final List<byte[]> blocks = new ArrayList<>();
  private int acknowledged;
  private final CountDownLatch allAcknowledged = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(1);
  private volatile int last = -2;

  private Fragments(int limit) {
    this.limit = limit;
  }

  private static byte[] block(int number, int n) {
    byte[] b = new byte[n];

    for (int i = 0; i < n; i++) {
      b[i] = (byte) (31 * i + 7 + number);
    }
    return b;
  }

  @Override
  public GetDataBlockResponse getDataBlock(GetDataBlockRequest req) {
    GetDataBlockResponse response = new GetDataBlockResponse(new ArrayList<>());
    int left = limit;
    int offset = req.getOffset();

    for (int i = req.getStartSequenceId(); i < req.getEndSequenceId() && left > 0; i++, offset = 0) {
      byte[] b = blocks.get(i);
      int n = Math.min(left, b.length - offset);

      response.addToTsBlocks(ByteBuffer.wrap(b, offset, n));
      left -= n;
      if (offset + n < b.length) {
        response.setOffset(offset + n);
        if (offset == 0) {
          response.setTotalLength(b.length);
        }
        break;
      }
    }
    return response;
  }

  @Override
  public synchronized void onAcknowledgeDataBlockEvent(AcknowledgeDataBlockEvent e) {
    acknowledged += e.getEndSequenceId() - e.getStartSequenceId();
    if (acknowledged == blocks.size()) {
      allAcknowledged.countDown();
    }
  }

  @Override
  public void onCloseSinkChannelEvent(CloseSinkChannelEvent e) {}

  @Override
  public void onNewDataBlockEvent(NewDataBlockEvent e) {}

  @Override
  public void onEndOfDataBlockEvent(EndOfDataBlockEvent e) {
    last = e.getLastSequenceId();
    ended.countDown();
  }

  @Override
  public Status testConnectionEmptyRPC() {
    return new Status(200);
  }

  @Override
  public Status unknownHere() {
    return new Status(200);
  }

  private void send(DataExchange.Client node) throws Exception {
    List<Long> sizes = new ArrayList<>();

    for (byte[] b : blocks) {
      sizes.add((long) b.length);
    }
    node.onNewDataBlockEvent(new NewDataBlockEvent(TARGET, "n", SOURCE, 0, sizes));
    node.onEndOfDataBlockEvent(new EndOfDataBlockEvent(TARGET, "n", SOURCE, blocks.size() - 1));
    System.out.println(allAcknowledged.await(20, TimeUnit.SECONDS) ? "acknowledged" : "not acknowledged");
  }

  private void receive(DataExchange.Client node) throws Exception {
    ByteArrayOutputStream partial = new ByteArrayOutputStream();
    int number = 0;

    if (!ended.await(20, TimeUnit.SECONDS)) {
      System.out.println("no end");
      return;
    }
    while (number <= last) {
      GetDataBlockRequest request = new GetDataBlockRequest(SOURCE, number, last + 1, 0);
      GetDataBlockResponse response = node.getDataBlock(request.setOffset(partial.size()));
      int payload = 0;

      for (int i = 0; i < response.getTsBlocksSize(); i++) {
        ByteBuffer b = response.getTsBlocks().get(i);
        payload += b.remaining();
        partial.write(b.array(), b.arrayOffset() + b.position(), b.remaining());
        if (!response.isSetOffset() || i < response.getTsBlocksSize() - 1) {
          boolean right = Arrays.equals(partial.toByteArray(), block(number, partial.size()));
          System.out.println("block " + number++ + " " + partial.size() + (right ? "" : " is wrong"));
          partial.reset();
        }
      }
      if (payload == 0 || payload > limit || (response.isSetOffset() && response.getOffset() != partial.size())) {
        System.out.println("wrong response");
        return;
      }
    }
    node.onAcknowledgeDataBlockEvent(new AcknowledgeDataBlockEvent(SOURCE, 0, last + 1, 0));
  }

  public static void main(String[] args) throws Exception {
    Fragments me = new Fragments(Integer.parseInt(args[2]));
    TProtocolFactory protocol = args[1].equals("compact") ? new TCompactProtocol.Factory() : new TBinaryProtocol.Factory();
    TServerSocket socket = new TServerSocket(0);
    TThreadPoolServer server = new TThreadPoolServer(new TThreadPoolServer.Args(socket)
        .processor(new DataExchange.Processor<>(me)).transportFactory(new TFramedTransport.Factory()).protocolFactory(protocol));
    Thread thread = new Thread(server::serve);

    for (int i = 3; i < args.length; i++) {
      me.blocks.add(block(i - 3, Integer.parseInt(args[i])));
    }
    thread.setDaemon(true);
    thread.start();
    System.out.println("port " + socket.getServerSocket().getLocalPort());
    TSocket other = new TSocket("127.0.0.1", new Scanner(System.in).nextInt());
    try (TTransport transport = new TFramedTransport(other)) {
      transport.open();
      DataExchange.Client node = new DataExchange.Client(protocol.getProtocol(transport));

      if (args[0].equals("send")) {
        me.send(node);
      } else {
        me.receive(node);
      }
    }
    System.exit(0);
  }
}

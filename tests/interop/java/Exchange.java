import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.iotdb.common.rpc.thrift.TSStatus;
import org.apache.iotdb.mpp.rpc.thrift.MPPDataExchangeService;
import org.apache.iotdb.mpp.rpc.thrift.TAcknowledgeDataBlockEvent;
import org.apache.iotdb.mpp.rpc.thrift.TCloseSinkChannelEvent;
import org.apache.iotdb.mpp.rpc.thrift.TEndOfDataBlockEvent;
import org.apache.iotdb.mpp.rpc.thrift.TFragmentInstanceId;
import org.apache.iotdb.mpp.rpc.thrift.TGetDataBlockRequest;
import org.apache.iotdb.mpp.rpc.thrift.TGetDataBlockResponse;
import org.apache.iotdb.mpp.rpc.thrift.TNewDataBlockEvent;
import org.apache.iotdb.rpc.TElasticFramedTransport;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TProtocolFactory;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;

/**
 * One end of an exchange on IoTDB's own stubs and transport, as a node before fragments has it. "send PROTOCOL SIZE..." or
 * "receive PROTOCOL": prints its port, reads the port of the other node, works, prints what came. Instances and bytes are those of
 * exchange_node.c.
 */
public class Exchange implements MPPDataExchangeService.Iface {
  private static final TFragmentInstanceId SOURCE = new TFragmentInstanceId("q0", 1, "0");
  private static final TFragmentInstanceId TARGET = new TFragmentInstanceId("q0", 2, "0");

  private final List<byte[]> blocks = new ArrayList<>();
  private final BitSet acknowledged = new BitSet();
  private final CountDownLatch allAcknowledged = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(1);
  private volatile int last = -2;

  private static byte[] block(int number, int n) {
    byte[] b = new byte[n];

    for (int i = 0; i < n; i++) {
      b[i] = (byte) (31 * i + 7 + number);
    }
    return b;
  }

  @Override
  public TGetDataBlockResponse getDataBlock(TGetDataBlockRequest req) throws TException {
    List<ByteBuffer> found = new ArrayList<>();

    if (!req.getSourceFragmentInstanceId().equals(SOURCE)) {
      throw new TException("no such instance");
    }
    for (int i = req.getStartSequenceId(); i < req.getEndSequenceId(); i++) {
      found.add(ByteBuffer.wrap(blocks.get(i)));
    }
    return new TGetDataBlockResponse(found);
  }

  @Override
  public synchronized void onAcknowledgeDataBlockEvent(TAcknowledgeDataBlockEvent e) {
    acknowledged.set(e.getStartSequenceId(), e.getEndSequenceId());
    if (acknowledged.cardinality() == blocks.size()) {
      allAcknowledged.countDown();
    }
  }

  @Override
  public void onCloseSinkChannelEvent(TCloseSinkChannelEvent e) {}

  @Override
  public void onNewDataBlockEvent(TNewDataBlockEvent e) throws TException {
    if (!e.getTargetFragmentInstanceId().equals(TARGET) || !e.getTargetPlanNodeId().equals("n")) {
      throw new TException("no such target");
    }
  }

  @Override
  public void onEndOfDataBlockEvent(TEndOfDataBlockEvent e) {
    last = e.getLastSequenceId();
    ended.countDown();
  }

  @Override
  public TSStatus testConnectionEmptyRPC() {
    return new TSStatus(200);
  }

  private void send(MPPDataExchangeService.Client node) throws Exception {
    List<Long> sizes = new ArrayList<>();

    for (byte[] b : blocks) {
      sizes.add((long) b.length);
    }
    node.onNewDataBlockEvent(new TNewDataBlockEvent(TARGET, "n", SOURCE, 0, sizes));
    node.onEndOfDataBlockEvent(new TEndOfDataBlockEvent(TARGET, "n", SOURCE, blocks.size() - 1));
    System.out.println(allAcknowledged.await(20, TimeUnit.SECONDS) ? "acknowledged" : "not acknowledged");
  }

  private void receive(MPPDataExchangeService.Client node) throws Exception {
    if (!ended.await(20, TimeUnit.SECONDS)) {
      System.out.println("no end");
      return;
    }
    int number = 0;
    for (ByteBuffer b : node.getDataBlock(new TGetDataBlockRequest(SOURCE, 0, last + 1, 0)).getTsBlocks()) {
      byte[] bytes = new byte[b.remaining()];

      b.get(bytes);
      boolean right = java.util.Arrays.equals(bytes, block(number, bytes.length));
      System.out.println("block " + number++ + " " + bytes.length + (right ? "" : " is wrong"));
    }
    node.onAcknowledgeDataBlockEvent(new TAcknowledgeDataBlockEvent(SOURCE, 0, last + 1, 0));
    System.out.println("status " + node.testConnectionEmptyRPC().getCode());
  }

  public static void main(String[] args) throws Exception {
    Exchange me = new Exchange();
    TProtocolFactory protocol = args[1].equals("compact") ? new TCompactProtocol.Factory() : new TBinaryProtocol.Factory();
    TServerSocket socket = new TServerSocket(0);
    TThreadPoolServer server =
        new TThreadPoolServer(new TThreadPoolServer.Args(socket).processor(new MPPDataExchangeService.Processor<>(me))
            .transportFactory(new TElasticFramedTransport.Factory()).protocolFactory(protocol));
    Thread thread = new Thread(server::serve);

    for (int i = 2; i < args.length; i++) {
      me.blocks.add(block(i - 2, Integer.parseInt(args[i])));
    }
    thread.setDaemon(true);
    thread.start();
    System.out.println("port " + socket.getServerSocket().getLocalPort());
    TSocket other = new TSocket("127.0.0.1", new Scanner(System.in).nextInt());
    try (TTransport transport = new TElasticFramedTransport.Factory().getTransport(other)) {
      transport.open();
      MPPDataExchangeService.Client node = new MPPDataExchangeService.Client(protocol.getProtocol(transport));

      if (args[0].equals("send")) {
        me.send(node);
      } else {
        me.receive(node);
      }
    }
    System.exit(0);
  }
}

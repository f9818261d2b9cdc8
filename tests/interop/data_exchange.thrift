// The interface of the data exchange, for peers by Thrift's own compiler. Arguments have no numbers, as in IoTDB's.
namespace py data_exchange
namespace java data_exchange

struct FragmentInstanceId {
  1: required string queryId
  2: required i32 fragmentId
  3: required string instanceId
}

struct GetDataBlockRequest {
  1: required FragmentInstanceId sourceFragmentInstanceId
  2: required i32 startSequenceId
  3: required i32 endSequenceId
  4: required i32 index
  5: optional i32 offset
}

struct GetDataBlockResponse {
  1: required list<binary> tsBlocks
  2: optional i32 offset
  3: optional i32 totalLength
}

struct AcknowledgeDataBlockEvent {
  1: required FragmentInstanceId sourceFragmentInstanceId
  2: required i32 startSequenceId
  3: required i32 endSequenceId
  4: required i32 index
}

struct CloseSinkChannelEvent {
  1: required FragmentInstanceId sourceFragmentInstanceId
  2: required i32 index
}

struct NewDataBlockEvent {
  1: required FragmentInstanceId targetFragmentInstanceId
  2: required string targetPlanNodeId
  3: required FragmentInstanceId sourceFragmentInstanceId
  4: required i32 startSequenceId
  5: required list<i64> blockSizes
}

struct EndOfDataBlockEvent {
  1: required FragmentInstanceId targetFragmentInstanceId
  2: required string targetPlanNodeId
  3: required FragmentInstanceId sourceFragmentInstanceId
  4: required i32 lastSequenceId
}

struct Status {
  1: required i32 code
  2: optional string message
}

service DataExchange {
  GetDataBlockResponse getDataBlock(GetDataBlockRequest req)
  void onAcknowledgeDataBlockEvent(AcknowledgeDataBlockEvent e)
  void onCloseSinkChannelEvent(CloseSinkChannelEvent e)
  void onNewDataBlockEvent(NewDataBlockEvent e)
  void onEndOfDataBlockEvent(EndOfDataBlockEvent e)
  Status testConnectionEmptyRPC()
  Status unknownHere()
}

// What bench/exchange_glib.c needs of the data exchange.
struct GetRequest {
  1: required i32 startSequenceId
  2: required i32 endSequenceId
  3: optional i32 offset
}

struct GetResponse {
  1: required list<binary> tsBlocks
  2: optional i32 offset
  3: optional i32 totalLength
}

service BenchExchange {
  GetResponse getDataBlock(1: GetRequest req)
}

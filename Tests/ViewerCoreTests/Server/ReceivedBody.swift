import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// The bytes that a client has received of a body.
final class ReceivedBody: Sendable {
    private let state = Mutex<(bytes: [UInt8], largest: Int)>(([], 0))

    var bytes: [UInt8] { state.withLock { $0.bytes } }
    var largestPiece: Int { state.withLock { $0.largest } }

    func add(_ bytes: [UInt8]) {
        state.withLock { state in
            state.bytes += bytes
            state.largest = max(state.largest, bytes.count)
        }
    }

    struct Writer: ResponseBodyWriter {
        let received: ReceivedBody

        mutating func write(_ buffer: ByteBuffer) async throws {
            received.add(Array(buffer.readableBytesView))
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }
}

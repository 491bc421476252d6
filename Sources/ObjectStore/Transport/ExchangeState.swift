import CCurl
import Glibc

/// The state of one exchange for libcurl's callbacks, all on the thread that drives the exchange.
final class ExchangeState {
    private(set) var reader: AnswerReader
    /// The reason for which a callback has ended the exchange.
    private(set) var failure: TransportFailure?
    /// Whether the request is being sent on a connection.
    private(set) var isRequested = false
    /// For errors.
    let authority: String

    /// The rest of the request's body. The memory outlives the exchange.
    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ request: StoreRequest, _ body: UnsafeRawBufferPointer) {
        reader = AnswerReader(request)
        authority = request.authority
        rest = body[...]
    }

    /// The state in libcurl's context pointer.
    static func of(_ context: UnsafeMutableRawPointer?) -> ExchangeState {
        guard let context else { preconditionFailure("every handle has its state") }
        return Unmanaged<ExchangeState>.fromOpaque(context).takeUnretainedValue()
    }

    /// CURLOPT_PREREQFUNCTION: before each attempt to send the request. libcurl retries when a kept connection is found
    /// closed, but the store may have executed the request.
    func request() -> Int32 {
        if isRequested { return CURL_PREREQFUNC_ABORT }
        isRequested = true
        return CURL_PREREQFUNC_OK
    }

    /// CURLOPT_READFUNCTION: the next bytes of the body.
    func read(into memory: UnsafeMutableRawBufferPointer) -> Int {
        let piece = rest.prefix(memory.count)
        memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece))
        rest = rest.dropFirst(piece.count)
        return piece.count
    }

    /// CURLOPT_HEADERFUNCTION: one line.
    func head(_ line: UnsafeRawBufferPointer) -> Int {
        taken(line) { reader, line throws(TransportFailure) in try reader.head(line) }
    }

    /// CURLOPT_WRITEFUNCTION.
    func body(_ bytes: UnsafeRawBufferPointer) -> Int {
        taken(bytes) { reader, bytes throws(TransportFailure) in try reader.body(bytes) }
    }

    /// - Returns: the number of bytes accepted; another number than received ends the exchange.
    private func taken(
        _ bytes: UnsafeRawBufferPointer,
        _ take: (inout AnswerReader, UnsafeRawBufferPointer) throws(TransportFailure) -> Void
    ) -> Int {
        do throws(TransportFailure) {
            try take(&reader, bytes)
            return bytes.count
        } catch {
            failure = error
            return bytes.isEmpty ? 1 : 0
        }
    }
}

/// The headers of a request as a libcurl list.
final class HeaderList {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    init(_ headers: [(name: String, value: String)]) throws(TransportFailure) {
        // Suppresses libcurl's own headers: there are no unsigned ones, and a body is sent without waiting for 100
        // Continue.
        for line in ["Accept:", "Expect:"] { try append(line) }
        for (name, value) in headers {
            // A line break would begin another header.
            guard (name + value).utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw TransportFailure("the field \(StoreRefusal.oneLine(name)) is no text")
            }
            try append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
    }

    deinit { curl_slist_free_all(first) }

    private func append(_ line: String) throws(TransportFailure) {
        guard let longer = curl_slist_append(first, line) else {
            throw TransportFailure("there is no memory left")
        }
        first = longer
    }
}

import Testing

@testable import ObjectStore

@Suite struct PaceTests {
    private static let second: Int64 = 1_000_000_000

    private func pace(bodyBytes: Int = 0, isKeptAlive: Bool = false) -> ExchangePace {
        ExchangePace(
            StoreRequest(
                method: .put, address: "http://store/a", headers: [],
                body: ObjectBytes([UInt8](repeating: 0, count: bodyBytes)), maximumAnswerBytes: 9,
                deadlineNanoseconds: 600 * Self.second, isKeptAlive: isKeptAlive),
            timeouts: TransportTimeouts(), nowNanoseconds: 0)
    }

    /// End time of an exchange, given the bytes sent and received by second.
    private func end(
        _ pace: ExchangePace, sent: (Int64) -> Int64, received: (Int64) -> Int64
    ) -> Int64? {
        var pace = pace
        for second in Int64(0)...700 {
            if pace.note(
                isConnected: true, sentBytes: sent(second), receivedBytes: received(second),
                nowNanoseconds: second * Self.second) != nil
            {
                return second
            }
        }
        return nil
    }

    @Test func `a store that reads nothing, or a byte a second, is given up after 30 seconds`() {
        let pace = pace(bodyBytes: 1_000_000)
        #expect(end(pace, sent: { _ in 0 }, received: { _ in 0 }) == 30)
        #expect(end(pace, sent: { $0 }, received: { _ in 0 }) == 30)
        #expect(end(pace, sent: { min(500_000, $0 * 100_000) }, received: { _ in 0 }) == 60)
    }

    @Test func `a slow store that advances has until the deadline`() {
        let pace = pace(bodyBytes: 1_000_000)
        #expect(end(pace, sent: { min(999_999, $0 * 1_500) }, received: { _ in 0 }) == 600)
        #expect(end(self.pace(), sent: { _ in 0 }, received: { $0 * 2_000 }) == 600)
    }

    @Test func `silence after a request ends at 60 s, a slow answer earlier`() {
        #expect(end(pace(), sent: { _ in 0 }, received: { _ in 0 }) == 60)
        #expect(end(pace(), sent: { _ in 0 }, received: { $0 }) == 16)
        #expect(end(pace(), sent: { _ in 0 }, received: { min(50_000, $0 * 10_000) }) == 31)
    }

    @Test func `a store that keeps the connection alive may drip, and must not be silent`() {
        let pace = pace(isKeptAlive: true)
        #expect(end(pace, sent: { _ in 0 }, received: { $0 / 20 }) == 600)
        #expect(end(pace, sent: { _ in 0 }, received: { min($0, 3) }) == 63)
    }

    @Test func `the next check is due when a limit is reached`() {
        var pace = pace(bodyBytes: 10)
        #expect(pace.nextNanoseconds == 600 * Self.second)
        _ = pace.note(
            isConnected: true, sentBytes: 0, receivedBytes: 0, nowNanoseconds: Self.second)
        #expect(pace.nextNanoseconds == 31 * Self.second)
        _ = pace.note(
            isConnected: true, sentBytes: 10, receivedBytes: 0, nowNanoseconds: 2 * Self.second)
        #expect(pace.nextNanoseconds == 62 * Self.second)
        _ = pace.note(
            isConnected: true, sentBytes: 10, receivedBytes: 1, nowNanoseconds: 3 * Self.second)
        #expect(pace.nextNanoseconds == 18 * Self.second)
    }
}

@Suite struct AnswerReaderTests {
    private func reader(_ method: StoreRequest.Method = .get, maximum: Int = 10) -> AnswerReader {
        AnswerReader(
            StoreRequest(
                method: method, address: "http://store/a", headers: [], body: ObjectBytes([]),
                maximumAnswerBytes: maximum, deadlineNanoseconds: 1))
    }

    private func read(
        _ lines: [String], _ method: StoreRequest.Method = .get
    ) throws(TransportFailure) -> StoreAnswer {
        var reader = reader(method)
        for line in lines {
            let line = Array((line + "\r\n").utf8)
            try reader.takeHead(line)
        }
        return reader.answer
    }

    @Test func `fields have names in lower case, and values without blanks around them`() throws {
        let answer = try read([
            "HTTP/1.1 206 Partial Content", "ETag: \t\"a b\" ", "x-empty:", "no field",
            " X: folded", "",
        ])
        #expect(answer.status == 206)
        #expect(answer.headers == ["etag": "\"a b\"", "x-empty": ""])
    }

    @Test func `interim responses and trailer fields are ignored`() throws {
        let answer = try read([
            "HTTP/1.1 100 Continue", "x-first: 1", "", "HTTP/1.1 200 OK", "x-second: 2", "",
            "x-third: 3", "HTTP/1.1 500 E", "",
        ])
        #expect(answer.status == 200)
        #expect(answer.headers == ["x-second": "2"])
    }

    @Test func `an invalid status is not a success`() throws {
        for line in ["HTTP/1.1 2000 OK", "HTTP/1.1", "HTTP/1.1 -20 OK", "HTTP/1.1 abc"] {
            #expect(try !(200..<300).contains(read([line, ""]).status))
        }
    }

    @Test func `a Content-Length above the limit is refused, except for HEAD`() throws {
        let lines = ["HTTP/1.1 200 OK", "Content-Length: 11", ""]
        #expect(throws: TransportFailure.self) { try read(lines) }
        #expect(try read(lines, .head).headers["content-length"] == "11")
    }

    @Test func `a head without an end, and a coding that was not asked for, are refused`() {
        #expect(throws: TransportFailure.self) {
            try read(["HTTP/1.1 200 OK"] + [String](repeating: "a: b", count: 20_000))
        }
        #expect(throws: TransportFailure.self) {
            try read(["HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked", ""])
        }
    }

    @Test func `a body that is longer than is wanted is refused at once`() throws {
        var reader = reader()
        let bytes = [UInt8](repeating: 1, count: 6)
        try reader.takeBody(bytes)
        #expect(throws: TransportFailure.self) {
            try reader.takeBody(bytes)
        }
        #expect(reader.answer.body.count == 6)
    }
}

extension AnswerReader {
    /// Typed errors end at a closure that rethrows.
    fileprivate mutating func takeHead(_ line: [UInt8]) throws(TransportFailure) {
        let failure = line.withUnsafeBytes { bytes in
            do throws(TransportFailure) {
                try head(bytes)
                return nil as TransportFailure?
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    fileprivate mutating func takeBody(_ bytes: [UInt8]) throws(TransportFailure) {
        let failure = bytes.withUnsafeBytes { bytes in
            do throws(TransportFailure) {
                try body(bytes)
                return nil as TransportFailure?
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }
}

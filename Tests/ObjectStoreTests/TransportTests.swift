import Glibc
import Hashing
import Synchronization
import Testing
import Threads

@testable import ObjectStore

/// A bucket over a real connection to a faulty server.
@Suite(.timeLimit(.minutes(1))) struct TransportTests {
    private func bucket(
        _ server: ScriptedServer, timeouts: TransportTimeouts = TransportTimeouts(),
        shutdown: Shutdown = Shutdown()
    ) throws -> S3Bucket {
        S3Bucket(
            try S3Address(
                "s3://tributary", endpoint: StoreEndpoint("http://127.0.0.1:\(server.port)")),
            credentials: CredentialsSource(environment: [
                "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
            ]),
            transport: try HTTPTransport(timeouts: timeouts, shutdown: shutdown))
    }

    /// The kind of the first read's error.
    private func kind(
        _ steps: [ScriptedServer.Step],
        timeouts: TransportTimeouts = TransportTimeouts()
    ) throws -> ObjectStoreError.Kind? {
        let server = try ScriptedServer(steps)
        let bucket = try bucket(server, timeouts: timeouts)
        do throws(ObjectStoreError) {
            _ = try bucket.read("a", range: 0..<5, tag: nil)
            return nil
        } catch {
            return error.kind
        }
    }

    private static let partial =
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/9\r\nContent-Length: 5\r\n\r\n"

    @Test func `a connection is used again`() throws {
        let answer = ScriptedServer.Step.send(Self.partial + "abcde")
        let server = try ScriptedServer([answer, answer])
        let bucket = try bucket(server)
        for _ in 0..<2 {
            #expect(try bucket.read("a", range: 0..<5, tag: nil) == Array("abcde".utf8))
        }
        #expect(server.requests.count == 2)
        #expect(server.requests.first?.hasPrefix("GET /tributary/a HTTP/1.1\r\n") == true)
    }

    @Test func `a body is sent whole, with its length`() throws {
        let server = try ScriptedServer([
            .send("HTTP/1.1 200 OK\r\nETag: \"t\"\r\nContent-Length: 0\r\n\r\n")
        ])
        // More than a connection's buffer accepts in one write.
        let bytes = [UInt8](repeating: 0x61, count: 700_000)
        _ = try bucket(server).put(
            bytes, at: "a", digest: ObjectDigest(sha256: HashFunction.sha256.hash(bytes)),
            condition: .none)
        let request = try #require(server.requests.first)
        #expect(request.lowercased().contains("content-length: 700000\r\n"))
        #expect(request.hasSuffix(String(repeating: "a", count: 1_000)))
        #expect(request.utf8.count > 700_000)
    }

    @Test func `a page is read, and JSON is posted`() throws {
        let answer = ScriptedServer.Step.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let server = try ScriptedServer([answer, answer])
        for json in [nil, Array("{}".utf8)] {
            let (status, body) = try PageFetch.exchange(
                "http://127.0.0.1:\(server.port)/hook", posting: json, maximumBytes: 100,
                deadlineNanoseconds: 30_000_000_000)
            #expect(status == 200 && body == Array("ok".utf8))
        }
        let requests = server.requests
        #expect(requests.first?.hasPrefix("GET /hook HTTP/1.1\r\n") == true)
        #expect(requests.last?.hasPrefix("POST /hook HTTP/1.1\r\n") == true)
        #expect(requests.last?.contains("Content-Type: application/json\r\n") == true)
        #expect(requests.last?.hasSuffix("\r\n\r\n{}") == true)
    }

    @Test(arguments: [
        // Server errors, with and without a body.
        (
            [ScriptedServer.Step.send("HTTP/1.1 500 E\r\nContent-Length: 0\r\n\r\n")],
            ObjectStoreError.Kind.busy
        ),
        (
            [
                .send(
                    "HTTP/1.1 503 E\r\nContent-Length: 47\r\n\r\n<Error><Code>SlowDown</Code><Message/></Error> "
                )
            ], .busy
        ),
        // A proxy's page.
        ([.send("HTTP/1.1 502 E\r\nContent-Length: 13\r\n\r\n<html></html>")], .busy),
        // Fewer bytes than announced, and fewer than requested.
        ([.sendAndClose(Self.partial + "abc")], .unreachable),
        (
            [.send("HTTP/1.1 206 P\r\nContent-Range: bytes 0-4/9\r\nContent-Length: 3\r\n\r\nabc")],
            .unreachable
        ),
        // No answer at all, and a protocol other than HTTP.
        ([.sendAndClose("")], .unreachable),
        ([.sendAndClose("SSH-2.0-OpenSSH_9.2\r\n")], .unreachable),
        // A redirect: no request is signed for another host.
        (
            [.send("HTTP/1.1 307 T\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")],
            .refused
        ),
        // More than requested.
        ([.send("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nabcde")], .unreachable),
        ([.flood(S3Bucket.Limits.answerBytes + 1)], .unreachable),
    ])
    func `each invalid answer has its kind of error`(
        _ steps: [ScriptedServer.Step], _ expected: ObjectStoreError.Kind
    ) throws {
        #expect(try kind(steps) == expected)
    }

    @Test func `silence ends at the timeout`() throws {
        var timeouts = TransportTimeouts()
        timeouts.silenceNanoseconds = 50_000_000
        #expect(try kind([.silence], timeouts: timeouts) == .unreachable)
        #expect(try kind([.send(Self.partial + "ab")], timeouts: timeouts) == .unreachable)
    }

    @Test func `a refused connection is an error`() throws {
        let port = try ScriptedServer([]).port
        var timeouts = TransportTimeouts()
        // The port may remain open briefly.
        timeouts.silenceNanoseconds = 50_000_000
        let bucket = S3Bucket(
            try S3Address(
                "s3://tributary", endpoint: StoreEndpoint("http://127.0.0.1:\(port)")),
            credentials: CredentialsSource(environment: [
                "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
            ]), transport: try HTTPTransport(timeouts: timeouts))
        #expect(throws: ObjectStoreError.self) { try bucket.properties(of: "a") }
    }

    @Test func `a file of authorities that cannot be read is refused`() {
        #expect(throws: TransportFailure.self) {
            try HTTPTransport(authorities: "/nonexistent/authorities.pem")
        }
    }

    @Test func `an answer that drips has an end`() throws {
        var timeouts = TransportTimeouts()
        timeouts.dripNanoseconds = 100_000_000
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n"
        #expect(
            try kind([.drip(head, milliseconds: 5)], timeouts: timeouts) == .unreachable)
    }

    @Test func `a request is not sent again when its connection closes without an answer`() throws {
        // The second request reuses the connection and is not answered.
        let server = try ScriptedServer([
            .send(Self.partial + "abcde"), .sendAndClose(""), .send(Self.partial + "abcde"),
        ])
        let bucket = try bucket(server)
        #expect(try bucket.read("a", range: 0..<5, tag: nil) == Array("abcde".utf8))
        #expect(throws: ObjectStoreError.self) {
            try bucket.read("a", range: 0..<5, tag: nil)
        }
        #expect(server.requests.count == 2)
    }

    @Test func `a kept connection that closes while a body is sent is a broken connection`() throws
    {
        let server = try ScriptedServer([
            .sendAndCloseNext("HTTP/1.1 200 OK\r\nETag: \"t\"\r\nContent-Length: 0\r\n\r\n")
        ])
        let bucket = try bucket(server)
        // Much more than the buffers of a connection.
        let bytes = [UInt8](repeating: 0x61, count: 32 << 20)
        let digest = ObjectDigest(sha256: HashFunction.sha256.hash(bytes))
        _ = try bucket.put(
            [1], at: "a", digest: ObjectDigest(sha256: HashFunction.sha256.hash([1])),
            condition: .none)
        let error = #expect(throws: ObjectStoreError.self) {
            try bucket.put(bytes, at: "a", digest: digest, condition: .none)
        }
        #expect(error?.kind == .unreachable)
        let text = error?.message ?? ""
        #expect(
            text.hasSuffix(TransportFailure.closed.description)
                || text.hasSuffix("the connection broke"), "\(text)")
        #expect(server.requests.count == 1)
    }

    @Test func `fields and bodies of one exchange are not those of the next`() throws {
        let server = try ScriptedServer([
            .send("HTTP/1.1 200 OK\r\nETag: \"t\"\r\nContent-Length: 0\r\n\r\n"),
            .send("HTTP/1.1 200 OK\r\nETag: \"t\"\r\nContent-Length: 9\r\n\r\n"),
            .send("HTTP/1.1 204 N\r\n\r\n"), .send(Self.partial + "abcde"),
        ])
        let bucket = try bucket(server)
        _ = try bucket.put(
            [1, 2, 3], at: "a", digest: ObjectDigest(sha256: HashFunction.sha256.hash([1, 2, 3])),
            condition: .absent)
        #expect(try bucket.properties(of: "a")?.sizeBytes == 9)
        try bucket.delete("a")
        #expect(try bucket.read("a", range: 0..<5, tag: nil) == Array("abcde".utf8))
        let requests = server.requests
        #expect(requests.map { $0.prefix { $0 != " " } } == ["PUT", "HEAD", "DELETE", "GET"])
        #expect(requests.filter { $0.contains("If-None-Match: *\r\n") }.count == 1)
        #expect(requests.filter { $0.lowercased().contains("content-length: 3\r\n") }.count == 1)
        // Unsigned headers are not sent.
        #expect(!requests.contains { $0.contains("\r\nAccept:") || $0.contains("\r\nExpect:") })
    }

    @Test func `a shutdown ends requests in progress and later ones`() throws {
        let server = try ScriptedServer([.silence])
        let shutdown = Shutdown()
        let bucket = try bucket(server, shutdown: shutdown)
        let thread = JoinableThread()
        let failure = Mutex<ObjectStoreError?>(nil)
        thread.start("reader") {
            do throws(ObjectStoreError) {
                _ = try bucket.read("a", range: 0..<5, tag: nil)
            } catch {
                failure.withLock { $0 = error }
            }
        }
        while server.requests.isEmpty { usleep(1_000) }
        shutdown.begin()
        thread.join()
        #expect(failure.withLock { $0?.message }?.hasSuffix("the program ends") == true)
        #expect(throws: ObjectStoreError.self) { try bucket.properties(of: "a") }
        #expect(server.requests.count == 1)
    }
}

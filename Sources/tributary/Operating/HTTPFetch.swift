import Glibc
import Operations
import Terminal

/// Fetches one page over HTTP, on the calling thread.
enum HTTPFetch {
    /// What a server on the same network needs a hundredth of.
    private static let patienceSeconds = 5
    /// The status of thousands of sources.
    private static let maximumBytes = 8 << 20

    /// - Throws: ``Failure`` with one line.
    static func body(_ path: String, at address: HTTPAddress) throws -> [UInt8] {
        let descriptor = try connected(to: address)
        defer { close(descriptor) }
        // HTTP/1.0: the answer is in one piece, and ends with the connection.
        let request =
            "GET \(path) HTTP/1.0\r\nHost: \(address)\r\nAccept: application/json\r\nConnection: close\r\n\r\n"
        guard send(request, over: descriptor) else { throw failure(address, errno) }
        let bytes = try received(over: descriptor, from: address)
        let reply: HTTPReply
        do throws(HTTPReplyError) {
            reply = try HTTPReply(bytes)
        } catch {
            throw Failure("cannot read http://\(address)\(path): \(error)")
        }
        guard reply.status == 200 else {
            throw Failure(
                "http://\(address)\(path) returned status \(reply.status): check that it is a collector's --http address"
            )
        }
        return reply.body
    }

    private static func connected(to address: HTTPAddress) throws -> Int32 {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(address.host, "\(address.port)", &hints, &list)
        guard status == 0 else {
            throw Failure(
                "cannot resolve \(address.host): \(String(cString: gai_strerror(status)))")
        }
        defer { freeaddrinfo(list) }
        var code: Int32 = 0
        var next = list
        while let entry = next {
            next = entry.pointee.ai_next
            let descriptor = socket(
                entry.pointee.ai_family, entry.pointee.ai_socktype | Int32(SOCK_CLOEXEC.rawValue),
                entry.pointee.ai_protocol)
            guard descriptor >= 0 else {
                code = errno
                continue
            }
            // Also how long connect(2) may take (socket(7)).
            var patience = timeval(tv_sec: patienceSeconds, tv_usec: 0)
            for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
                setsockopt(
                    descriptor, SOL_SOCKET, option, &patience,
                    socklen_t(MemoryLayout<timeval>.size))
            }
            if connect(descriptor, entry.pointee.ai_addr, entry.pointee.ai_addrlen) == 0 {
                return descriptor
            }
            code = errno
            close(descriptor)
        }
        throw failure(address, code)
    }

    private static func send(_ text: String, over descriptor: Int32) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func received(
        over descriptor: Int32, from address: HTTPAddress
    ) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = recv(descriptor, &block, block.count, 0)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw failure(address, errno) }
            if count == 0 { return bytes }
            bytes += block[..<count]
            guard bytes.count <= maximumBytes else {
                throw Failure(
                    "the answer of http://\(address) is too large: check that it is a collector's --http address"
                )
            }
        }
    }

    private static func failure(_ address: HTTPAddress, _ code: Int32) -> Failure {
        let isLate = code == EAGAIN || code == EINPROGRESS
        let reason =
            isLate ? "no answer within \(patienceSeconds) s" : String(cString: strerror(code))
        return Failure(
            "cannot reach http://\(address): \(reason); start the collector with --http \(address)"
        )
    }
}

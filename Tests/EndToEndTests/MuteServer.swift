import Foundation
import Glibc
import Synchronization

/// A TCP server on loopback that accepts and does not answer properly.
final class MuteServer: Sendable {
    enum Manner: Sendable {
        /// Never answers.
        case silent
        /// Begins a listing as a store would and continues with single bytes, slowly.
        case dripping
        /// Answers each listing with the same page, and says that there is more.
        case looping
        /// Answers each listing with another page, and says that there is more.
        case endless
    }

    /// Its port on loopback.
    let port: UInt16
    private let listener: Int32
    private let accepted = Atomic(0)
    private let listed = Atomic(0)

    init(_ manner: Manner) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isBound, listen(listener, 64) == 0 else {
            throw StageFailure(description: "a server cannot listen: \(errno)")
        }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                accepted.add(1, ordering: .relaxed)
                Thread.detachNewThread { self.serve(client, manner) }
            }
        }
    }

    /// Stops listening; open connections remain.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// Number of accepted connections.
    var connections: Int { accepted.load(ordering: .relaxed) }

    /// Until the client has had enough of it.
    private func serve(_ client: Int32, _ manner: Manner) {
        defer { close(client) }
        var block = [UInt8](repeating: 0, count: 4_096)
        switch manner {
        case .silent:
            while read(client, &block, block.count) > 0 {}
        case .dripping:
            guard read(client, &block, block.count) > 0 else { return }
            var next = Array(
                "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: 1000000\r\n\r\n<?xml "
                    .utf8)
            while send(client, &next, next.count, Int32(MSG_NOSIGNAL)) > 0 {
                next = [UInt8(ascii: " ")]
                usleep(500_000)
            }
        case .looping, .endless:
            while case let count = read(client, &block, block.count), count > 0 {
                let request = String(decoding: block.prefix(count), as: UTF8.self)
                let number = manner == .endless ? listed.add(1, ordering: .relaxed).newValue : 1
                let body = Self.page(number, of: request)
                var answer = Array(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
                        .utf8)
                guard send(client, &answer, answer.count, Int32(MSG_NOSIGNAL)) > 0 else { return }
            }
        }
    }

    /// A requested page of a listing.
    private static func page(_ number: Int, of request: String) -> String {
        let query = request.split(separator: " ").dropFirst().first ?? ""
        let prefix =
            query.split(separator: "&").first { $0.hasPrefix("prefix=") }?
            .dropFirst("prefix=".count).replacing("%2F", with: "/") ?? ""
        let isOfFolders = query.contains("delimiter=")
        var page = "<ListBucketResult><IsTruncated>true</IsTruncated>"
        for entry in 0..<1_000 {
            let key = "\(prefix)k\(100_000_000 + number * 1_000 + entry)"
            page +=
                isOfFolders
                ? "<CommonPrefixes><Prefix>\(key)/</Prefix></CommonPrefixes>"
                : "<Contents><Key>\(key)</Key><Size>1</Size><ETag>&quot;x&quot;</ETag></Contents>"
        }
        return page + "</ListBucketResult>"
    }
}

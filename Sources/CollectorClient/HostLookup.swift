import Dispatch
import Glibc
import Synchronization
import Threads

/// Checks on a separate thread whether a host name can be resolved: libzmq retries an unknown name forever, without reporting it.
package final class HostLookup: Sendable {
    private struct State {
        var isAsking = false
        var askedNanoseconds: Int64?
        var trouble: String?
    }

    /// The name server may be repaired, or the network may come up.
    private static let intervalNanoseconds: Int64 = 10_000_000_000

    private let host: String?
    private let state = Mutex(State())

    /// - Parameter endpoint: ZeroMQ's; only `tcp://` endpoints have a host.
    package init(of endpoint: String) {
        host = Self.host(of: endpoint)
    }

    /// Starts a lookup when one is due, and returns at once.
    /// - Returns: the last lookup's error; nil: it succeeded, or there is no result yet.
    package func trouble(now: Int64) -> String? {
        guard let host else { return nil }
        let (isDue, trouble) = state.withLock { state in
            let isDue =
                !state.isAsking
                && state.askedNanoseconds.map { now - $0 >= Self.intervalNanoseconds } ?? true
            if isDue {
                state.isAsking = true
                state.askedNanoseconds = now
            }
            return (isDue, state.trouble)
        }
        if isDue {
            // The resolver may take minutes if no name server answers.
            NamedThread.start("resolve") { [self] in
                let trouble = Self.look(up: host)
                state.withLock { state in
                    state.isAsking = false
                    state.trouble = trouble
                }
            }
        }
        return trouble
    }

    /// The error of resolving a name, in one line; nil if it can be resolved. Blocks.
    package static func trouble(of endpoint: String) -> String? {
        host(of: endpoint).flatMap(look(up:))
    }

    /// A `tcp://` endpoint for each of several collectors behind one host name, in the order of their addresses; the original
    /// endpoint if the name has one address, or is not resolved within the time, for which the call blocks.
    ///
    /// Only IPv4 addresses that other machines can have count: a machine with one address of each kind is one collector.
    package static func endpoints(
        of endpoint: String, patienceMilliseconds: Int
    ) -> [String] {
        guard let host = host(of: endpoint), let colon = endpoint.lastIndex(of: ":"),
            !endpoint.contains(";")
        else { return [endpoint] }
        let shared = FoundAddresses()
        NamedThread.start("resolve") {
            let addresses = Self.addresses(of: host)
            shared.addresses.withLock { $0 = addresses }
            shared.answered.signal()
        }
        guard
            shared.answered.wait(timeout: .now() + .milliseconds(patienceMilliseconds)) == .success
        else {
            return [endpoint]
        }
        let addresses = shared.addresses.withLock { $0 }.filter { $0 >> 24 != 127 }.sorted()
        guard addresses.count > 1 else { return [endpoint] }
        return addresses.map { address in
            let bytes = [24, 16, 8, 0].map { String(address >> UInt32($0) & 255) }
            return "tcp://\(bytes.joined(separator: "."))\(endpoint[colon...])"
        }
    }

    /// The IPv4 addresses of a name. Blocks.
    private static func addresses(of host: String) -> Set<UInt32> {
        var hints = addrinfo()
        hints.ai_family = AF_INET
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var addresses: Set<UInt32> = []
        var next = list
        while let entry = next {
            entry.pointee.ai_addr?.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                _ = addresses.insert(UInt32(bigEndian: $0.pointee.sin_addr.s_addr))
            }
            next = entry.pointee.ai_next
        }
        return addresses
    }

    private static func look(up host: String) -> String? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, nil, &hints, &list)
        guard status == 0 else {
            return
                "the host name '\(host)' cannot be resolved (\(String(cString: gai_strerror(status))))"
        }
        freeaddrinfo(list)
        return nil
    }

    /// The host of `tcp://[source;]host:port`; nil: none.
    static func host(of endpoint: String) -> String? {
        guard endpoint.hasPrefix("tcp://"), let colon = endpoint.lastIndex(of: ":") else {
            return nil
        }
        var host = endpoint[endpoint.index(endpoint.startIndex, offsetBy: 6)..<colon]
        if let semicolon = host.lastIndex(of: ";") {
            host = host[host.index(after: semicolon)...]
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return host.isEmpty || host == "*" ? nil : String(host)
    }
}

/// A name server's answer; the caller may have stopped waiting.
private final class FoundAddresses: Sendable {
    let addresses = Mutex<Set<UInt32>>([])
    let answered = Semaphore(value: 0)
}

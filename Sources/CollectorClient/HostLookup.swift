import Dispatch
import Glibc
import Synchronization
import Threads

/// Resolves a host name on a separate thread: libzmq retries an unknown name forever, without reporting it, and connects to
/// one of several addresses.
package final class HostLookup: Sendable {
    private struct State {
        var isAsking = false
        var askedNanoseconds: Int64?
        var trouble: String?
        /// Nil: not known yet.
        var endpoints: [String]?
    }

    /// The name server may be repaired, or the network may come up.
    private static let intervalNanoseconds: Int64 = 10_000_000_000
    /// An agent that does not know all addresses has one collector only.
    private static let addressesIntervalNanoseconds: Int64 = 2_000_000_000

    private let endpoint: String
    private let host: String?
    private let state = Mutex(State())

    /// - Parameter endpoint: ZeroMQ's; only `tcp://` endpoints have a host.
    package init(of endpoint: String) {
        self.endpoint = endpoint
        host = Self.host(of: endpoint)
    }

    /// Starts a lookup when one is due, and returns at once.
    /// - Returns: the last lookup's error; nil: it succeeded, or there is no result yet.
    package func trouble(now: Int64) -> String? {
        ask(every: Self.intervalNanoseconds, now: now)?.trouble
    }

    /// Starts a lookup when one is due, and returns at once.
    /// - Returns: as ``endpoints(of:patienceMilliseconds:)``, once the name was resolved; nil: not yet.
    package func endpoints(now: Int64) -> [String]? {
        guard Self.isName(endpoint) else { return [endpoint] }
        return state.withLock(\.endpoints)
            ?? ask(every: Self.addressesIntervalNanoseconds, now: now)?.endpoints
    }

    private func ask(every interval: Int64, now: Int64) -> State? {
        guard let host else { return nil }
        let (isDue, present) = state.withLock { state in
            let isDue =
                !state.isAsking && state.askedNanoseconds.map { now - $0 >= interval } ?? true
            if isDue {
                state.isAsking = true
                state.askedNanoseconds = now
            }
            return (isDue, state)
        }
        if isDue {
            // The resolver may take minutes if no name server answers.
            NamedThread.start("resolve") { [self] in
                let answer = Self.look(up: host)
                state.withLock { state in
                    state.isAsking = false
                    switch answer {
                    case .success(let addresses):
                        state.trouble = nil
                        state.endpoints = addresses.endpoints(of: endpoint)
                    case .failure(let failure):
                        state.trouble = failure.text
                    }
                }
            }
        }
        return present
    }

    /// The error of resolving a name, in one line; nil if it can be resolved. Blocks.
    package static func trouble(of endpoint: String) -> String? {
        guard let host = host(of: endpoint), case .failure(let failure) = look(up: host) else {
            return nil
        }
        return failure.text
    }

    /// The collectors behind a host name, as `tcp://` endpoints in the order of their addresses.
    ///
    /// Only addresses that other machines can have count: the IPv4 ones, or the IPv6 ones if there are no others, because a
    /// machine with one address of each kind is one collector.
    /// - Parameter patienceMilliseconds: maximum time for which the call blocks.
    /// - Returns: the original endpoint if the name has one address, or was not resolved in time.
    package static func endpoints(
        of endpoint: String, patienceMilliseconds: Int
    ) -> [String] {
        guard let host = host(of: endpoint), isName(endpoint) else { return [endpoint] }
        let shared = FoundAddresses()
        NamedThread.start("resolve") {
            if case .success(let addresses) = Self.look(up: host) {
                shared.addresses.withLock { $0 = addresses }
            }
            shared.answered.signal()
        }
        guard
            shared.answered.wait(timeout: .now() + .milliseconds(patienceMilliseconds)) == .success
        else {
            return [endpoint]
        }
        return shared.addresses.withLock { $0 }.endpoints(of: endpoint)
    }

    /// Whether the endpoint has a host name, which may have several addresses.
    static func isName(_ endpoint: String) -> Bool {
        guard let host = host(of: endpoint), !endpoint.contains(";") else { return false }
        return !host.contains(":") && host.contains { !$0.isNumber && $0 != "." }
    }

    private struct Failure: Error {
        var text: String
    }

    /// The addresses of a name, or an error in one line. Blocks.
    private static func look(up host: String) -> Result<HostAddresses, Failure> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, nil, &hints, &list)
        guard status == 0 else {
            return .failure(
                Failure(
                    text:
                        "the host name '\(host)' cannot be resolved (\(String(cString: gai_strerror(status))))"
                ))
        }
        defer { freeaddrinfo(list) }
        var addresses = HostAddresses()
        var next = list
        while let entry = next {
            addresses.add(entry.pointee.ai_addr)
            next = entry.pointee.ai_next
        }
        return .success(addresses)
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
    let addresses = Mutex(HostAddresses())
    let answered = Semaphore(value: 0)
}

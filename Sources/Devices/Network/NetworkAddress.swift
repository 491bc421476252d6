import Files
import Glibc
import Synchronization
import Threads

/// A host's address, in the form for sockets.
struct NetworkAddress: Sendable {
    private var storage = sockaddr_storage()
    private var length: socklen_t = 0

    /// `AF_INET` or `AF_INET6`.
    var family: Int32 { Int32(storage.ss_family) }

    /// The addresses of a host that are tried, at most.
    private static let mostAddresses = 4

    /// Resolves a host name. `isWanted` is called ten times a second during the wait.
    /// - Returns: its addresses, not empty, in the order in which they are to be tried (RFC 6724); nil if `isWanted` became
    ///   false.
    /// - Throws: the reason why it has no address.
    static func find(
        _ host: String, port: UInt16, while isWanted: () -> Bool
    ) throws(NetworkFailure) -> [NetworkAddress]? {
        // A numeric address needs no name server.
        if case .success(let addresses) = lookUp(host, port, AI_NUMERICHOST) { return addresses }
        let answer = Answer()
        NamedThread.start("look up camera") { answer.give(lookUp(host, port, 0)) }
        while isWanted() {
            switch answer.value {
            case .success(let addresses): return addresses
            case .failure(let failure): throw failure
            case nil: usleep(100_000)
            }
        }
        return nil
    }

    private final class Answer: Sendable {
        private let result = Mutex<Result<[NetworkAddress], NetworkFailure>?>(nil)

        var value: Result<[NetworkAddress], NetworkFailure>? { result.withLock { $0 } }

        func give(_ value: Result<[NetworkAddress], NetworkFailure>) {
            result.withLock { $0 = value }
        }
    }

    private static func lookUp(
        _ host: String, _ port: UInt16, _ flags: Int32
    ) -> Result<[NetworkAddress], NetworkFailure> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, "\(port)", &hints, &list)
        guard status == 0, list != nil else {
            return .failure(
                NetworkFailure("it has no address: \(String(cString: gai_strerror(status)))"))
        }
        defer { freeaddrinfo(list) }
        var addresses: [NetworkAddress] = []
        var next = list
        while let found = next?.pointee, addresses.count < mostAddresses {
            next = found.ai_next
            var address = NetworkAddress()
            guard let bytes = found.ai_addr,
                found.ai_addrlen <= MemoryLayout.size(ofValue: address.storage)
            else { continue }
            address.length = found.ai_addrlen
            withUnsafeMutableBytes(of: &address.storage) {
                $0.copyMemory(
                    from: UnsafeRawBufferPointer(start: bytes, count: Int(found.ai_addrlen)))
            }
            addresses.append(address)
        }
        guard !addresses.isEmpty else { return .failure(NetworkFailure("it has no address")) }
        return .success(addresses)
    }

    /// The same host at another port.
    func at(port: UInt16) -> NetworkAddress {
        var other = self
        withUnsafeMutableBytes(of: &other.storage) { bytes in
            // Both kinds of address have the port there.
            bytes.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self)
        }
        return other
    }

    /// Every address of this host, at a port.
    func any(port: UInt16) -> NetworkAddress {
        var own = NetworkAddress()
        own.storage.ss_family = storage.ss_family
        own.length = length
        return own.at(port: port)
    }

    /// Whether a sender's address is of this host.
    func isSameHost(as other: sockaddr_storage) -> Bool {
        guard other.ss_family == storage.ss_family else { return false }
        let range = family == AF_INET6 ? 8..<24 : 4..<8
        return withUnsafeBytes(of: storage) { own in
            withUnsafeBytes(of: other) { own[range].elementsEqual($0[range]) }
        }
    }

    /// The numeric address without the port; nil if the family is unknown.
    static func text(of storage: sockaddr_storage) -> String? {
        var storage = storage
        let length =
            Int32(storage.ss_family) == AF_INET6
            ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let status = withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getnameinfo(
                    $0, socklen_t(length), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            }
        }
        guard status == 0 else { return nil }
        return String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}

/// Why a network camera is unreachable; the text follows the camera's name.
struct NetworkFailure: Error, Hashable {
    let reason: String

    init(_ reason: String) { self.reason = reason }

    /// The system's error message.
    init(_ words: String, errno number: Int32) {
        reason = "\(words): \(systemMessage(number))"
    }
}

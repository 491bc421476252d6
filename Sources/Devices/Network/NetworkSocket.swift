import CLinux
import Glibc
import Media

/// A non-blocking socket. Used on one thread.
struct NetworkSocket: ~Copyable {
    /// Received data with its arrival, nanoseconds of `CLOCK_MONOTONIC`.
    struct Received {
        var bytes: [UInt8]
        var arrivalNanoseconds: Int64
        var from: sockaddr_storage
    }

    let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// A connection, and the address of the other end.
    struct Connection: ~Copyable {
        let socket: NetworkSocket
        let address: NetworkAddress
    }

    /// Time limit for an address, if another one is left: a host may have an address that it does not answer, such as IPv6 ones.
    private static let firstAddressNanoseconds: Int64 = 2_000_000_000

    /// Connects to the first of a host's addresses that accepts the connection. `isWanted` is called ten times a second
    /// during the wait.
    /// - Parameter limit: for the last address.
    /// - Returns: nil if `isWanted` became false.
    /// - Throws: the failure of the last address.
    static func connected(
        to addresses: [NetworkAddress], withinNanoseconds limit: Int64, while isWanted: () -> Bool
    ) throws(NetworkFailure) -> Connection? {
        for address in addresses.dropLast() {
            do throws(NetworkFailure) {
                guard
                    let socket = try connected(
                        to: address, withinNanoseconds: min(limit, firstAddressNanoseconds),
                        while: isWanted)
                else { return nil }
                return Connection(socket: socket, address: address)
            } catch {
                continue
            }
        }
        guard let address = addresses.last,
            let socket = try connected(to: address, withinNanoseconds: limit, while: isWanted)
        else { return nil }
        return Connection(socket: socket, address: address)
    }

    private static func connected(
        to address: NetworkAddress, withinNanoseconds limit: Int64, while isWanted: () -> Bool
    ) throws(NetworkFailure) -> NetworkSocket? {
        let own = try open(address.family, SOCK_STREAM)
        var one: Int32 = 1
        setsockopt(
            own.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one,
            socklen_t(MemoryLayout<Int32>.size))
        CLinux_stamp_arrivals(own.descriptor)
        if address.withPointer({ connect(own.descriptor, $0, $1) }) == 0 { return own }
        guard errno == EINPROGRESS else { throw NetworkFailure("cannot connect", errno: errno) }
        let end = SystemClock.monotonic.nowNanoseconds + limit
        while isWanted() {
            var wait = pollfd(fd: own.descriptor, events: Int16(POLLOUT), revents: 0)
            if poll(&wait, 1, 100) > 0 {
                var flaw: Int32 = 0
                var size = socklen_t(MemoryLayout<Int32>.size)
                getsockopt(own.descriptor, SOL_SOCKET, SO_ERROR, &flaw, &size)
                guard flaw == 0 else { throw NetworkFailure("cannot connect", errno: flaw) }
                return own
            }
            guard SystemClock.monotonic.nowNanoseconds < end else {
                throw NetworkFailure("cannot connect within \(limit / 1_000_000_000) s")
            }
        }
        return nil
    }

    /// A socket for datagrams at a port; nil when the port is taken.
    static func datagrams(
        _ host: NetworkAddress, port: UInt16, bufferBytes: Int32
    ) throws(NetworkFailure) -> NetworkSocket? {
        let own = try open(host.family, SOCK_DGRAM)
        var size = bufferBytes
        setsockopt(
            own.descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        CLinux_stamp_arrivals(own.descriptor)
        guard host.any(port: port).withPointer({ bind(own.descriptor, $0, $1) }) == 0 else {
            if errno == EADDRINUSE || errno == EACCES { return nil }
            throw NetworkFailure("no port for datagrams", errno: errno)
        }
        return own
    }

    /// A socket whose datagrams to multicast groups leave through the interface with an address. Answers come to this address.
    static func multicast(
        through address: NetworkInterface.Address, bufferBytes: Int32
    ) throws(NetworkFailure) -> NetworkSocket {
        switch address {
        case .version4(var name):
            name.sin_port = 0
            return try multicast(
                name, name.sin_addr, AF_INET, (Int32(IPPROTO_IP), IP_MULTICAST_IF), bufferBytes)
        case .version6(var name):
            name.sin6_port = 0
            return try multicast(
                name, name.sin6_scope_id, AF_INET6,
                (Int32(IPPROTO_IPV6), IPV6_MULTICAST_IF), bufferBytes)
        }
    }

    /// - Parameters:
    ///   - name: to which the socket is bound.
    ///   - interface: value of the option that selects the interface.
    private static func multicast<Name, Interface>(
        _ name: Name, _ interface: Interface, _ family: Int32, _ option: (Int32, Int32),
        _ bufferBytes: Int32
    ) throws(NetworkFailure) -> NetworkSocket {
        let own = try open(family, SOCK_DGRAM)
        var size = bufferBytes
        setsockopt(
            own.descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        let isSet = withUnsafePointer(to: interface) {
            setsockopt(
                own.descriptor, option.0, option.1, $0, socklen_t(MemoryLayout<Interface>.size))
        }
        guard isSet == 0 else { throw NetworkFailure("no multicast", errno: errno) }
        let isBound = withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(own.descriptor, $0, socklen_t(MemoryLayout<Name>.size))
            }
        }
        guard isBound == 0 else { throw NetworkFailure("no port for datagrams", errno: errno) }
        return own
    }

    private static func open(
        _ family: Int32, _ type: __socket_type
    ) throws(NetworkFailure) -> NetworkSocket {
        let kind = Int32(type.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, 0)
        guard descriptor >= 0 else { throw NetworkFailure("no socket", errno: errno) }
        return NetworkSocket(descriptor)
    }

    enum Reading {
        case received(Received)
        case nothing
        /// The other end has closed the connection.
        case closed
        case failed(Int32)
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Reading {
        var stamp: Int64 = 0
        var from = sockaddr_storage()
        let count = CLinux_receive_stamped(
            descriptor, buffer.baseAddress, buffer.count, &stamp, &from)
        if count < 0 {
            return errno == EAGAIN || errno == EINTR ? .nothing : .failed(errno)
        }
        if count == 0 { return .closed }
        return .received(
            Received(
                bytes: Array(UnsafeRawBufferPointer(rebasing: buffer[..<count])),
                arrivalNanoseconds: ArrivalStamp.monotonicNanoseconds(stamp), from: from))
    }

    /// Sends as much as fits; the number of bytes, or the error.
    func send(_ bytes: ArraySlice<UInt8>) -> Result<Int, NetworkFailure> {
        let count = bytes.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if count >= 0 { return .success(count) }
        if errno == EAGAIN || errno == EINTR { return .success(0) }
        return .failure(NetworkFailure("cannot send", errno: errno))
    }

    /// Sends a datagram; one that does not go out is lost, as on any network.
    func send(_ bytes: [UInt8], to address: NetworkAddress) {
        _ = address.withPointer { target, length in
            bytes.withUnsafeBytes {
                sendto(
                    descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL), target,
                    length)
            }
        }
    }
}

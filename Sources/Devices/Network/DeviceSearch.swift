import Glibc
import Media
package import ONVIF

/// Finds network cameras by WS-Discovery over multicast.
package enum DeviceSearch {
    /// Why no search is possible; the text names a remedy.
    package struct Failure: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    package struct Result: Hashable, Sendable {
        package var devices: [DiscoveredDevice]
        /// Names of the interfaces.
        package var interfaces: [String]
    }

    /// Number of times that the search is sent: datagrams may be lost.
    private static let rounds = 3
    /// Interval of these repetitions (SOAP-over-UDP 1.1, appendix I: up to 250 ms).
    private static let roundNanoseconds: Int64 = 250_000_000
    private static let bufferBytes: Int32 = 1 << 20
    /// Datagrams of a search that are parsed; a flood of them ends it.
    private static let mostDatagrams = 4_096

    /// Blocks for the whole time: cameras answer after a random pause.
    /// - Parameter interface: its name; nil: all that are up and have multicast, without the loopback interface.
    package static func run(
        interface: String?, waitNanoseconds: Int64
    ) throws(Failure) -> Result {
        let all = NetworkInterface.list()
        let chosen = all.filter { own in
            interface.map { $0 == own.name } ?? own.isForMulticast
        }
        guard !chosen.isEmpty else { throw Failure(description: none(interface, all)) }
        var generator = SystemRandomNumberGenerator()
        var probe = DeviceProbe { generator.next() }
        let names = chosen.map(\.name).reduce(into: [String]()) { names, name in
            if !names.contains(name) { names.append(name) }
        }
        do throws(NetworkFailure) {
            try search(&probe, chosen, waitNanoseconds)
        } catch {
            throw Failure(
                description: "cannot search on \(names.joined(separator: ", ")): \(error.reason)")
        }
        return Result(devices: probe.devices, interfaces: names)
    }

    private static func none(_ interface: String?, _ all: [NetworkInterface]) -> String {
        let names = Set(all.map(\.name)).sorted().joined(separator: ", ")
        guard let interface else {
            return "no network interface with multicast is up: name one with --interface"
        }
        return
            "there is no network interface '\(interface)' with an address: use one of \(names)"
    }

    private static func search(
        _ probe: inout DeviceProbe, _ interfaces: [NetworkInterface], _ waitNanoseconds: Int64
    ) throws(NetworkFailure) {
        let sockets = try sockets(interfaces)
        let begin = SystemClock.monotonic.nowNanoseconds
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
        defer { buffer.deallocate() }
        var sent = 0
        var left = mostDatagrams
        while left > 0 {
            let passed = SystemClock.monotonic.nowNanoseconds - begin
            guard passed < waitNanoseconds else { return }
            if sent < rounds, passed >= Int64(sent) * roundNanoseconds {
                sent += 1
                for datagram in probe.datagrams {
                    for own in sockets { own.socket.send(datagram, to: own.group) }
                }
            }
            let next = sent < rounds ? Int64(sent) * roundNanoseconds : waitNanoseconds
            let pause = max(0, min(next, waitNanoseconds) - passed) / 1_000_000 + 1
            var set = sockets.map {
                pollfd(fd: $0.socket.descriptor, events: Int16(POLLIN), revents: 0)
            }
            poll(&set, nfds_t(set.count), Int32(clamping: min(pause, 1_000)))
            for (own, polled) in zip(sockets, set) where polled.revents != 0 {
                while left > 0, case .received(let received) = own.socket.receive(into: buffer) {
                    left -= 1
                    if let host = NetworkAddress.text(of: received.from) {
                        probe.receive(received.bytes, from: host)
                    }
                }
            }
        }
    }

    /// A socket for each address that can be used: an IPv6 address cannot while it is checked for duplicates (RFC 4862 §5.4).
    /// - Throws: if none can.
    private static func sockets(
        _ interfaces: [NetworkInterface]
    ) throws(NetworkFailure) -> [Socket] {
        var sockets: [Socket] = []
        var failure = NetworkFailure("no multicast group")
        for interface in interfaces {
            let group =
                switch interface.address {
                case .version4: DeviceProbe.group
                case .version6: "\(DeviceProbe.linkGroup)%\(interface.name)"
                }
            do throws(NetworkFailure) {
                guard
                    let address = try NetworkAddress.find(
                        group, port: DeviceProbe.port, while: { false })?.first
                else { continue }
                sockets.append(
                    Socket(
                        try NetworkSocket.multicast(
                            through: interface.address, bufferBytes: bufferBytes), address))
            } catch {
                failure = error
            }
        }
        guard !sockets.isEmpty else { throw failure }
        return sockets
    }

    /// A socket in a list, and the group to which it sends.
    private final class Socket {
        let socket: NetworkSocket
        let group: NetworkAddress

        init(_ socket: consuming NetworkSocket, _ group: NetworkAddress) {
            self.socket = socket
            self.group = group
        }
    }
}

import Glibc
import Testing

@testable import Devices

/// Connections to hosts with several addresses.
@Suite struct NetworkSocketTests {
    /// A listening socket at an address of the loopback interface.
    private final class Listener {
        let descriptor: Int32
        private(set) var port: UInt16 = 0

        init(_ host: String, port wanted: UInt16 = 0) throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = wanted.bigEndian
            name.sin_addr.s_addr = inet_addr(host)
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &name) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
                }
            }
            try #require(isBound && listen(descriptor, 1) == 0)
            port = UInt16(bigEndian: name.sin_port)
        }

        deinit { close(descriptor) }
    }

    private func address(_ host: String, _ port: UInt16) throws -> NetworkAddress {
        try #require(try NetworkAddress.find(host, port: port, while: { true })?.first)
    }

    @Test func `a host's next address is used if one refuses the connection`() throws {
        let listener = try Listener("127.0.0.2")
        let refusing = try address("127.0.0.1", listener.port)
        let accepting = try address("127.0.0.2", listener.port)
        for addresses in [[refusing, accepting], [accepting, refusing]] {
            let found = try NetworkSocket.connected(
                to: addresses, withinNanoseconds: 5_000_000_000, while: { true })
            guard let found else {
                Issue.record("not connected")
                continue
            }
            var host = sockaddr_storage()
            accepting.withPointer { pointer, length in
                withUnsafeMutableBytes(of: &host) {
                    $0.copyMemory(
                        from: UnsafeRawBufferPointer(start: pointer, count: Int(length)))
                }
            }
            #expect(found.address.isSameHost(as: host))
        }
    }

    @Test func `the last address's failure is the error`() throws {
        let listener = try Listener("127.0.0.2")
        let refusing = try address("127.0.0.1", listener.port)
        var failure: NetworkFailure?
        do {
            _ = try NetworkSocket.connected(
                to: [refusing, refusing], withinNanoseconds: 5_000_000_000, while: { true })
        } catch {
            failure = error
        }
        #expect(failure?.reason == "cannot connect: Connection refused")
    }

    @Test func `a numeric address is its host's only one`() throws {
        let addresses = try NetworkAddress.find("127.0.0.1", port: 554, while: { true })
        #expect(addresses?.count == 1)
    }
}

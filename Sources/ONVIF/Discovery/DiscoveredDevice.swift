/// A camera that has answered a probe.
package struct DiscoveredDevice: Hashable, Sendable {
    /// The numeric address that the answer came from, of IPv6 with its zone (`fe80::1%eth0`).
    package var host: String
    /// The device's lasting identity, usually `urn:uuid:…`.
    package var endpoint: String
    /// Name and hardware, from the device's scopes (ONVIF Core Specification §7.3.2.2); nil if they are not stated.
    package var name: String?
    package var hardware: String?
    /// Its device service, at ``host`` only: a camera cannot name another host.
    package var service: DeviceURL?

    var isIPv6: Bool { host.contains(":") }

    package init(
        host: String, endpoint: String, name: String? = nil, hardware: String? = nil,
        service: DeviceURL?
    ) {
        self.host = host
        self.endpoint = endpoint
        self.name = name
        self.hardware = hardware
        self.service = service
    }
}

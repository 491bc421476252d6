import CPostgreSQL

/// The address of a database in libpq's notation: `postgresql://[USER@]HOST[:PORT][,HOST…]/DATABASE[?PARAMETER=VALUE…]`
/// (PostgreSQL 15, §34.1.1.2 "Connection URIs").
///
/// It has no password: an address is an argument, and every user of a machine can read the arguments of every process.
package struct PostgreSQLAddress: Hashable, Sendable, CustomStringConvertible {
    /// Maximum number of servers in an address. They are tried in order, each for ``connectSeconds``.
    package static let maximumHosts = 8
    private static let defaultConnectSeconds = 3
    private static let longestConnectSeconds = 30

    /// Hosts and database, for messages: without user and parameters.
    package let description: String
    /// The connection string for libpq.
    let text: String
    /// Timeout of a connection attempt to one server, seconds.
    let connectSeconds: Int

    /// - Throws: ``Flaw``, whose text never contains a part of the address.
    package init(_ text: String) throws(Flaw) {
        guard text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") else {
            throw .noAddress
        }
        guard !text.utf8.contains(0), text.utf8.count <= 4_096 else { throw .malformed }
        let settings = try Self.parsed(text)
        if settings["password"] != nil || settings["sslpassword"] != nil { throw .password }
        let hosts = (settings["host"] ?? settings["hostaddr"] ?? "")
            .split(separator: ",", omittingEmptySubsequences: false)
        guard hosts.count <= Self.maximumHosts else { throw .tooManyHosts }
        let ports = (settings["port"] ?? "")
            .split(separator: ",", omittingEmptySubsequences: false)
        let places = hosts.enumerated().map { index, host in
            // As libpq does: one port for all, or one for each.
            let port = ports.count == 1 ? ports[0] : index < ports.count ? ports[index] : ""
            return port.isEmpty ? String(host) : "\(host):\(port)"
        }
        self.text = text
        description = PostgreSQLError.oneLine(
            "postgresql://\(places.joined(separator: ","))/\(settings["dbname"] ?? "")")
        // libpq waits indefinitely with 0 and less.
        let wanted = settings["connect_timeout"].flatMap { Int($0) } ?? Self.defaultConnectSeconds
        connectSeconds =
            wanted < 1 ? Self.longestConnectSeconds : min(wanted, Self.longestConnectSeconds)
    }

    /// The reason why an address is invalid.
    package enum Flaw: Error, Hashable, CustomStringConvertible {
        case noAddress
        case malformed
        case password
        case tooManyHosts

        package var description: String {
            switch self {
            case .noAddress: "give postgresql://USER@HOST/DATABASE"
            case .malformed:
                "is no valid address: give postgresql://USER@HOST/DATABASE; special characters are written as %XX"
            case .password:
                "has a password, which every user of this machine could read: put it into a file of the form "
                    + "HOST:PORT:DATABASE:USER:PASSWORD (mode 0600) and name it with PGPASSFILE, or with ?passfile=FILE "
                    + "in the address"
            case .tooManyHosts:
                "names too many servers: use at most \(PostgreSQLAddress.maximumHosts)"
            }
        }
    }

    /// The address's own settings, without defaults. libpq's messages repeat the address, so they are not used.
    private static func parsed(_ text: String) throws(Flaw) -> [String: String] {
        // Checked first, so that no error message contains a password.
        let authority = text.drop { $0 != "/" }.dropFirst(2).prefix { $0 != "/" && $0 != "?" }
        if let end = authority.lastIndex(of: "@"), authority[..<end].contains(":") {
            throw .password
        }
        var message: UnsafeMutablePointer<CChar>?
        let options = PQconninfoParse(text, &message)
        if let message { PQfreemem(message) }
        guard let options else { throw .malformed }
        defer { PQconninfoFree(options) }
        var settings: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                settings[String(cString: keyword)] = String(cString: value)
            }
            option += 1
        }
        return settings
    }
}

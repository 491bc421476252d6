package import Messaging

/// Explains failed handshakes.
package enum HandshakeAdvice {
    /// One line: the reason, and what to do.
    /// - Parameters:
    ///   - endpoint: the collector's endpoint.
    ///   - name: the name under which the key would be authorised.
    ///   - sources: the sources that it would be authorised for; empty: the one of its name.
    ///   - watches: whether the connection receives the feed instead of sending.
    ///   - security: the connection's security.
    package static func line(
        _ failure: HandshakeFailure, endpoint: String, name: String, sources: [String] = [],
        watches: Bool = false, security: SocketSecurity
    ) -> String {
        let collector = "the collector at \(endpoint)"
        switch (failure, security) {
        case (.refused, .client(let key, _)):
            let command = KeyHolder(name: name, sources: sources)
                .command(for: key.publicKey, watches: watches)
            return
                "\(collector) does not admit this \(watches ? "viewer" : "box")'s key (it is unknown there, or revoked): run on the "
                + "server '\(command)'"
        case (.securityMismatch, .client):
            return
                "\(collector) uses no keys: start it without --insecure, or add --insecure here on a trusted "
                + "network"
        case (.securityMismatch, .plain), (.refused, .plain):
            return
                "\(collector) requires keys: give --collector-key KEY (shown by 'tributary keys list' on "
                + "the server)"
        case (.wrongKey, .client), (.brokenOff, .client):
            return
                "\(collector) closed the connection during the handshake: it uses no keys, or its key is not the one given "
                + "here (shown by 'tributary keys list' on the server)"
        case (.wrongKey, .plain), (.brokenOff, .plain):
            return
                "\(collector) closed the connection during the handshake: if it requires keys, give --collector-key KEY (shown "
                + "by 'tributary keys list' on the server)"
        case (.protocolError, _), (_, .server):
            return "the program that listens at \(endpoint) is not a collector: check the address"
        }
    }
}

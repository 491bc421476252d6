package import Messaging

/// What a handshake that failed means to people.
package enum HandshakeAdvice {
    /// One line: why, and what to do.
    /// - Parameters:
    ///   - endpoint: where the collector listens.
    ///   - name: what the key would be authorised as.
    ///   - security: how we connect.
    package static func line(
        _ failure: HandshakeFailure, endpoint: String, name: String, security: SocketSecurity
    ) -> String {
        let collector = "the collector at \(endpoint)"
        switch (failure, security) {
        case (.refused, .client(let key, _)):
            return
                "\(collector) does not admit this box's key: on the server, 'tributary keys authorize "
                + "\(name) \(key.publicKey.text)'"
        case (.securityMismatch, .client):
            return
                "\(collector) uses no keys: start it without --insecure, or give --insecure here too if the "
                + "network is yours alone"
        case (.securityMismatch, .plain), (.refused, .plain):
            return
                "\(collector) wants keys: give --collector-key KEY ('tributary keys list' on the server "
                + "shows it)"
        case (.wrongKey, .client), (.brokenOff, .client):
            return
                "\(collector) broke the greeting off: either it uses no keys, or its key is another than the one "
                + "that is given here ('tributary keys list' on the server shows it)"
        case (.wrongKey, .plain), (.brokenOff, .plain):
            return
                "\(collector) broke the greeting off: if it wants keys, give --collector-key KEY ('tributary "
                + "keys list' on the server shows it)"
        case (.protocolError, _), (_, .server):
            return "what listens at \(endpoint) does not greet as a collector does"
        }
    }
}

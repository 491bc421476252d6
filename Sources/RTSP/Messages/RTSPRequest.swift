/// A request to a camera (RFC 2326 §6).
package struct RTSPRequest: Hashable, Sendable {
    package enum Method: String, Hashable, Sendable {
        case options = "OPTIONS"
        case describe = "DESCRIBE"
        case setup = "SETUP"
        case play = "PLAY"
        case getParameter = "GET_PARAMETER"
        case teardown = "TEARDOWN"
    }

    package var method: Method
    package var uri: String
    package var headers: [(name: String, value: String)] = []

    package init(_ method: Method, _ uri: String) {
        self.method = method
        self.uri = uri
    }

    /// The serialised request.
    /// - Parameter sequence: `CSeq`, which identifies the response.
    package func bytes(sequence: UInt32) -> [UInt8] {
        var text = "\(method.rawValue) \(uri) RTSP/1.0\r\nCSeq: \(sequence)\r\n"
        for header in headers { text += "\(header.name): \(header.value)\r\n" }
        return Array("\(text)\r\n".utf8)
    }

    package static func == (left: RTSPRequest, right: RTSPRequest) -> Bool {
        left.method == right.method && left.uri == right.uri
            && left.headers.elementsEqual(right.headers) { $0 == $1 }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(method)
        hasher.combine(uri)
    }
}

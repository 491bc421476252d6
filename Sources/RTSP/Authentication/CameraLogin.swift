/// User name and password of a camera. Its description shows neither.
package struct CameraLogin: Hashable, Sendable, CustomStringConvertible,
    CustomDebugStringConvertible,
    CustomReflectable
{
    package var user: String
    package var password: String

    package init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// Parses `USER:PASSWORD`, the first line of a file, which may begin with a byte order mark.
    package init?(fileText: String) {
        let text = fileText.unicodeScalars
        let start = text.first == "\u{FEFF}" ? text.index(after: text.startIndex) : text.startIndex
        guard let line = fileText[start...].split(whereSeparator: \.isNewline).first,
            let colon = line.firstIndex(of: ":"), colon > line.startIndex
        else { return nil }
        user = String(line[..<colon])
        password = String(line[line.index(after: colon)...])
    }

    package var description: String { "a login" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

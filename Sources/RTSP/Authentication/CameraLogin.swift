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

    /// Parses `USER:PASSWORD`, the first line of a file.
    package init?(fileText: String) {
        guard let line = fileText.split(whereSeparator: \.isNewline).first,
            let colon = line.firstIndex(of: ":"), colon > line.startIndex
        else { return nil }
        user = String(line[..<colon])
        password = String(line[line.index(after: colon)...])
    }

    package var description: String { "a login" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A name as one segment of a URI's path (RFC 3986 §3.3): everything but unreserved characters is percent-encoded.
///
/// The result needs no quotation in a playlist: it is the same as a line and in a quoted-string. `.` and `..` cannot
/// be expressed; they are no names of sessions, sources or files.
func pathSegment(_ name: String) -> String {
    var text = ""
    for byte in name.utf8 {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            text.unicodeScalars.append(Unicode.Scalar(byte))
        default:
            text += byte < 16 ? "%0" : "%"
            text += String(byte, radix: 16, uppercase: true)
        }
    }
    return text
}

import XML

/// SOAP 1.2 envelopes (W3C, "SOAP Version 1.2 Part 1").
enum SOAPEnvelope {
    static let namespace = "http://www.w3.org/2003/05/soap-envelope"
    static let prolog = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"

    /// - Parameters:
    ///   - header: elements of the header; may be empty.
    ///   - body: the only element of the body.
    static func text(header: String, body: String) -> String {
        let head = header.isEmpty ? "" : "<s:Header>\(header)</s:Header>"
        return """
            \(prolog)<s:Envelope xmlns:s="\(namespace)">\(head)<s:Body>\(body)</s:Body></s:Envelope>
            """
    }

    /// Text as content of an element.
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            // XML 1.0 has no other control characters (§2.2).
            case _ where character.value < 0x20 && character != "\t": result += " "
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}

/// The content of an answer: the body's element, or a fault.
enum SOAPAnswer {
    case body(XMLElement)
    case fault(SOAPFault)

    init(parsing bytes: [UInt8]) throws(ONVIFError) {
        let root: XMLElement
        do throws(XMLElement.Flaw) {
            root = try XMLElement.parse(bytes)
        } catch {
            throw .malformedAnswer("no valid XML at byte \(error.offset): \(error)")
        }
        guard root.name == "Envelope", let content = root.child("Body")?.children.first else {
            throw .malformedAnswer("no SOAP envelope")
        }
        self = content.name == "Fault" ? .fault(SOAPFault(content)) : .body(content)
    }
}

/// A fault (SOAP 1.2 Part 1 §5.4); some cameras answer in SOAP 1.1.
struct SOAPFault: Hashable {
    /// Codes without their prefixes, from the general to the special one.
    let codes: [String]
    let reason: String

    init(_ element: XMLElement) {
        var codes: [String] = []
        // The tree has a limited depth.
        var code = element.child("Code")
        while let own = code {
            if let value = own.text(of: "Value") { codes.append(Self.localName(value)) }
            code = own.child("Subcode")
        }
        if let value = element.text(of: "faultcode") { codes.append(Self.localName(value)) }
        self.codes = codes
        let text =
            element.descendant("Reason", "Text")?.text ?? element.text(of: "faultstring") ?? ""
        reason = shownText(text.isEmpty ? codes.last ?? "a fault" : text)
    }

    /// Whether credentials are missing or wrong (ONVIF Core Specification §5.8.2.3; WS-Security §12).
    var isAboutCredentials: Bool {
        codes.contains {
            ["NotAuthorized", "FailedAuthentication", "InvalidSecurity"].contains($0)
        }
    }

    private static func localName(_ text: String) -> String {
        shownText(text.split(separator: ":").last ?? "")
    }
}

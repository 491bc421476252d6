import Accounts
import Archive
import HTTPTypes

/// A saved wall: an ordered list of sources to watch live.
struct Wall: Codable, Hashable, Sendable {
    static let maximumNameCharacters = 64
    static let maximumNameBytes = 256
    /// Maximum number of sources: more tiles than a screen can show.
    static let maximumSources = 64
    /// Range of the interval at which a wall changes pages.
    static let turnSeconds = 5...3_600

    /// 16 hexadecimal digits.
    var id: String
    var name: String
    /// In the order of the tiles.
    var sources: [String]
    /// Simultaneous tiles; nil: all.
    var tiles: Int?
    /// Interval of automatic page changes, seconds; nil: none.
    var turnSeconds: Int?
    /// The account that created it; empty if there were no accounts.
    var owner: String
    /// Visible to all accounts that may see one of its sources.
    var isShared: Bool

    /// The reason why it is invalid, on one line; nil if it is valid.
    var flaw: String? {
        guard !name.isEmpty, name.count <= Self.maximumNameCharacters,
            name.utf8.count <= Self.maximumNameBytes,
            !name.unicodeScalars.contains(where: Self.isControl),
            name.first != " ", name.last != " "
        else {
            return "'name' must be one line of 1 to \(Self.maximumNameCharacters) characters"
        }
        guard (1...Self.maximumSources).contains(sources.count),
            Set(sources).count == sources.count, sources.allSatisfy(ArchiveLayout.isValidName)
        else { return "'sources' must be 1 to \(Self.maximumSources) different names of sources" }
        guard (1...Self.maximumSources).contains(tiles ?? 1) else {
            return "'tiles' must be from 1 to \(Self.maximumSources)"
        }
        guard Self.turnSeconds.contains(turnSeconds ?? Self.turnSeconds.lowerBound) else {
            return
                "'turnSeconds' must be from \(Self.turnSeconds.lowerBound) to \(Self.turnSeconds.upperBound)"
        }
        return nil
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

extension Wall {
    /// The wall as an account sees it; nil: it does not exist for it. Sources that it may not see are left out.
    func seen(by identity: Identity, _ rights: Rights) -> Wall? {
        guard isShared || owner == identity.ownerName else { return nil }
        var wall = self
        wall.sources = rights.filter(sources)
        return wall.sources.isEmpty ? nil : wall
    }

    /// Whether an account may replace and remove it: its own walls, and shared ones as an operator of all their sources.
    func mayBeChanged(by identity: Identity, _ rights: Rights) -> Bool {
        if owner == identity.ownerName, sources.allSatisfy(rights.mayRead) { return true }
        return isShared && sources.allSatisfy(rights.mayOperate)
    }
}

extension Identity {
    /// The owner's account name; nil for links, which own nothing.
    var ownerName: String? {
        switch self {
        case .anonymous: ""
        case .user(let name), .script(let name): name
        case .link: nil
        }
    }
}

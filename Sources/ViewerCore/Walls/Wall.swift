import Accounts
import Archive
import HTTPTypes

/// Sources in an order, as people look at them live: what is saved of a wall.
struct Wall: Codable, Hashable, Sendable {
    static let maximumNameCharacters = 64
    static let maximumNameBytes = 256
    /// More tiles than a screen can show.
    static let maximumSources = 64
    /// Shorter pages cannot be seen; with longer ones nothing seems to turn.
    static let turnSeconds = 5...3_600

    /// 16 hexadecimal digits.
    var id: String
    var name: String
    /// In the order of the tiles.
    var sources: [String]
    /// Tiles at once; nil: all.
    var tiles: Int?
    /// Seconds until the next tiles are shown by themselves; nil: they stay.
    var turnSeconds: Int?
    /// The account that has made it; empty: there were no accounts.
    var owner: String
    /// Everybody sees it who may see one of its sources.
    var isShared: Bool

    /// What is wrong with it, in one line; nil: nothing.
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

    /// Whether an account may replace and remove it: its own, and what is shared as an operator of all its sources.
    func mayBeChanged(by identity: Identity, _ rights: Rights) -> Bool {
        if owner == identity.ownerName, sources.allSatisfy(rights.mayRead) { return true }
        return isShared && sources.allSatisfy(rights.mayOperate)
    }
}

extension Identity {
    /// The account's name, as it is kept with what is its own; nil: who has a link only keeps nothing.
    var ownerName: String? {
        switch self {
        case .nobody: ""
        case .user(let name), .script(let name): name
        case .link: nil
        }
    }
}

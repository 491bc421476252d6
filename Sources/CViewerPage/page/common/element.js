// @ts-check
// Elements of the page, made in one expression.

/**
 * An element with properties and children.
 *
 * Properties are the DOM's own (`className`, `onclick`, …); `dataset` and `style` are objects; names with a hyphen, and `role`, are attributes.
 * Children that are null, undefined or false are left out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
        if (value === undefined || value === null) continue;
        if (name === 'dataset' || name === 'style') Object.assign(made[name], value);
        else if (name.includes('-') || name === 'role' || name === 'for') {
            made.setAttribute(name, String(value));
        } else Reflect.set(made, name, value);
    }
    for (const child of children) {
        if (child !== null && child !== undefined && child !== false) made.append(child);
    }
    return made;
}

/**
 * A button.
 * @param {string} text The action; the accessible label if `properties` has an icon as its `textContent`.
 * @param {() => void} act
 * @param {Record<string, any>} [properties]
 */
export function button(text, act, properties = {}) {
    return element('button', { type: 'button', textContent: text, onclick: act, ...properties });
}

/**
 * Sets text only if it has changed, so that screen readers do not repeat it, and no layout is triggered.
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
    if (node.textContent !== text) node.textContent = text;
}

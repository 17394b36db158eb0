/** Of this program, as in package.json (a test compares them). Gateway and console tell each other. */
export const VERSION = '0.1.0'

export const VERSION_HEADER = 'x-ogw-version'
/** Who asks, as the client itself says, in UTF-8 with percent signs. */
export const ACTOR_HEADER = 'x-ogw-actor'

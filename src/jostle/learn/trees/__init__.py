"""Private decision trees and forests."""

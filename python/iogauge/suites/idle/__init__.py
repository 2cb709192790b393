"""What drives do without work: how long a read takes after an idle gap, and what they draw."""
